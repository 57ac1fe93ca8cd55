import { join } from 'node:path';
import { hashOf } from './files.ts';
import { kineMiB, limitsOf } from './limits.ts';

export const kinds = ['kine', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
export type ProgramKind = (typeof kinds)[number];

/** A program as it should run. A running program with the same hash is not started again. */
export interface WantedProgram {
  kind: ProgramKind;
  /** Names the record; during a change old and new apiservers have different names. */
  name: string;
  log: string;
  program: string;
  args: (port: number) => string[];
  env: Record<string, string>;
  hash: string;
  listens: boolean;
}

/** The inputs from which a cluster's programs are derived. */
export interface RunSpec {
  tier: string;
  replicas: number;
  endpoint: string;
  /** Concurrent requests of each apiserver. */
  inflight: number;
  /** Address ranges inside the cluster. */
  network: { services: string; pods: string };
  nodeCertificateSeconds: number;
  /** The directory of the version's programs, and the path of kine. */
  binaries: { dir: string; kine: string };
  keysDir: string;
  /** Of its store: each generation has a kine and a socket of its own. */
  storeGeneration: number;
  kineSocket: string;
  /** PostgreSQL's address with the schema and password. */
  database: string;
  /** The programs' uid, if it is not the server's. */
  user?: number | undefined;
}

const requestHeaders = [
  '--requestheader-allowed-names=quarterdeck-front',
  '--requestheader-username-headers=X-Remote-User',
  '--requestheader-group-headers=X-Remote-Group',
  '--requestheader-extra-headers-prefix=X-Remote-Extra-',
];

type ProgramSpec = Pick<WantedProgram, 'kind' | 'program' | 'args' | 'env'>;

const hashOfProgram = ({ user }: RunSpec, made: ProgramSpec) =>
  hashOf([made.program, made.args(0), made.env, ...(user === undefined ? [] : [user])]);

function makeWanted(run: RunSpec, made: ProgramSpec, index: number | undefined, listens: boolean): WantedProgram {
  const hash = hashOfProgram(run, made);
  const log = index === undefined ? made.kind : `${made.kind}-${index}`;
  return { ...made, hash, listens, log, name: index === undefined ? made.kind : `${log}-${hash}` };
}

const goLimits = (processors: number, mebibytes: number) => ({ GOMAXPROCS: String(processors), GOMEMLIMIT: `${mebibytes}MiB` });

/** Database connections that a cluster's kine opens and keeps. */
const kineConnections = '3';

/** The last etcd version whose watch progress an apiserver does not request. kine reports progress up to a second late, which would delay every
 *  consistent list, several of them before an apiserver is ready. Without progress an apiserver lists from kine, in a few milliseconds. */
const emulatedEtcdVersion = '3.5.12';

export function wantKine(run: RunSpec): WantedProgram {
  const made: ProgramSpec = {
    kind: 'kine',
    program: run.binaries.kine,
    args: () => [
      '--listen-address',
      `unix://${run.kineSocket}`,
      '--metrics-bind-address',
      '0',
      // By default kine opens a connection per request and closes all but two again.
      '--datastore-max-open-connections',
      kineConnections,
      '--datastore-max-idle-connections',
      kineConnections,
      '--emulated-etcd-version',
      emulatedEtcdVersion,
    ],
    env: { ...goLimits(4, kineMiB), KINE_ENDPOINT: run.database },
  };
  // That of the generation before runs on until the new one serves.
  const name = run.storeGeneration === 1 ? 'kine' : `kine-${run.storeGeneration}`;
  return { ...made, hash: hashOfProgram(run, made), listens: false, log: name, name };
}

export function wantApiservers(run: RunSpec): WantedProgram[] {
  const limits = limitsOf(run.tier);
  return Array.from({ length: run.replicas }, (_, index) =>
    makeWanted(
      run,
      {
        kind: 'kube-apiserver',
        program: join(run.binaries.dir, 'kube-apiserver'),
        args: (port) => apiserverArguments(run, port),
        env: goLimits(limits.processors, limits.apiserverMiB),
      },
      index,
      true,
    ),
  );
}

function apiserverArguments({ endpoint, keysDir, kineSocket, inflight, network }: RunSpec, port: number): string[] {
  const at = (name: string) => join(keysDir, name);
  return [
    `--etcd-servers=unix://${kineSocket}`,
    `--encryption-provider-config=${at('store.json')}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    `--tls-cert-file=${at('apiserver.crt')}`,
    `--tls-private-key-file=${at('apiserver.key')}`,
    '--tls-min-version=VersionTLS12',
    `--client-ca-file=${at('inner-authority.crt')}`,
    `--requestheader-client-ca-file=${at('front-authority.crt')}`,
    ...requestHeaders,
    `--proxy-client-cert-file=${at('front.crt')}`,
    `--proxy-client-key-file=${at('front.key')}`,
    `--kubelet-client-certificate=${at('kubelet-client.crt')}`,
    `--kubelet-client-key=${at('kubelet-client.key')}`,
    `--kubelet-certificate-authority=${at('cluster.crt')}`,
    '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
    `--service-account-issuer=${endpoint}`,
    `--service-account-jwks-uri=${endpoint}/openid/v1/jwks`,
    `--service-account-signing-key-file=${at('accounts.key')}`,
    `--service-account-key-file=${at('accounts.pub')}`,
    '--service-account-max-token-expiration=24h',
    '--service-account-extend-token-expiration=false',
    `--api-audiences=${endpoint}`,
    '--authorization-mode=Node,RBAC',
    '--enable-bootstrap-token-auth=true',
    '--enable-admission-plugins=NodeRestriction',
    `--service-cluster-ip-range=${network.services}`,
    '--allow-privileged=true',
    '--profiling=false',
    `--max-requests-inflight=${inflight}`,
    `--max-mutating-requests-inflight=${Math.ceil(inflight / 2)}`,
    '--shutdown-watch-termination-grace-period=10s',
    '--shutdown-delay-duration=0s',
    `--egress-selector-config-file=${at('egress.json')}`,
  ];
}

/** Controllers listen on no port; their health is judged by their processes. */
const controllerArguments = (keysDir: string, name: string, server: string) => [
  `--kubeconfig=${join(keysDir, `${name}.kubeconfig`)}`,
  `--master=${server}`,
  '--leader-elect=true',
  '--secure-port=0',
  '--profiling=false',
];

export function wantControllerManager(run: RunSpec, server: string): WantedProgram {
  const { tier, binaries, keysDir, network, nodeCertificateSeconds } = run;
  const limits = limitsOf(tier);
  const at = (name: string) => join(keysDir, name);
  const args = [
    ...controllerArguments(keysDir, 'controller-manager', server),
    // Certificate requests are decided by our own approver alone.
    '--controllers=*,-csrapproving',
    '--use-service-account-credentials=true',
    `--cluster-signing-cert-file=${at('cluster.crt')}`,
    `--cluster-signing-key-file=${at('cluster.key')}`,
    `--cluster-signing-duration=${nodeCertificateSeconds}s`,
    `--root-ca-file=${at('cluster.crt')}`,
    `--service-account-private-key-file=${at('accounts.key')}`,
    '--allocate-node-cidrs=true',
    `--cluster-cidr=${network.pods}`,
    `--service-cluster-ip-range=${network.services}`,
  ];
  const program = join(binaries.dir, 'kube-controller-manager');
  const env = goLimits(limits.processors, limits.controllerManagerMiB);
  return makeWanted(run, { kind: 'kube-controller-manager', program, args: () => args, env }, undefined, false);
}

export function wantScheduler(run: RunSpec, server: string): WantedProgram {
  const { tier, binaries, keysDir } = run;
  const limits = limitsOf(tier);
  const args = controllerArguments(keysDir, 'scheduler', server);
  const env = goLimits(limits.processors, limits.schedulerMiB);
  return makeWanted(
    run,
    { kind: 'kube-scheduler', program: join(binaries.dir, 'kube-scheduler'), args: () => args, env },
    undefined,
    false,
  );
}

/** The restart delay after the n-th consecutive early exit. */
export const restartDelaySeconds = (ends: number): number => (ends <= 1 ? 0 : Math.min(60, 2 ** (ends - 2)));
