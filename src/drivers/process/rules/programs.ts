import { join } from 'node:path';
import type { MemberLimits } from './etcd/limits.ts';
import { clientUrlOf, gatewayUrlOf, type MemberRecord, peerUrlOf } from './etcd/members.ts';
import { hashOf } from './files.ts';
import { kineMiB, limitsOf } from './limits.ts';

export const kinds = ['kine', 'etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
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
  /** `free`: it is given a port that is free, and keeps it over restarts. */
  listens: 'free' | 'itself';
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
  store: StoreSpec;
  /** The programs' uid, if it is not the server's. */
  user?: number | undefined;
}

/** What keeps the cluster's objects. */
export type StoreSpec =
  | {
      kind: 'kine';
      generation: number;
      socket: string;
      /** PostgreSQL's address with the schema and password. */
      database: string;
    }
  | {
      kind: 'etcd';
      programs: { etcd: string; etcdutl: string };
      generation: number;
      /** Of the generation's directory. */
      dir: string;
      wantedMembers: number;
      quotaBytes: number;
      limits: MemberLimits;
    };

export type EtcdSpec = Extract<StoreSpec, { kind: 'etcd' }>;

const requestHeaders = [
  '--requestheader-allowed-names=quarterdeck-front',
  '--requestheader-username-headers=X-Remote-User',
  '--requestheader-group-headers=X-Remote-Group',
  '--requestheader-extra-headers-prefix=X-Remote-Extra-',
];

type ProgramSpec = Pick<WantedProgram, 'kind' | 'program' | 'args' | 'env'>;

const hashOfProgram = ({ user }: RunSpec, made: ProgramSpec) =>
  hashOf([made.program, made.args(0), made.env, ...(user === undefined ? [] : [user])]);

function makeWanted(run: RunSpec, made: ProgramSpec, index: number | undefined, listens: WantedProgram['listens']): WantedProgram {
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

/** An apiserver begins a watch without a resource version once its cache has come to the store's revision, and refuses it after three
 *  seconds. Where objects of a kind do not change, only these reports bring the cache there. */
const progressInterval = '1s';

export function wantKine(run: RunSpec, { socket, database, generation }: Extract<StoreSpec, { kind: 'kine' }>): WantedProgram {
  const made: ProgramSpec = {
    kind: 'kine',
    program: run.binaries.kine,
    args: () => [
      '--listen-address',
      `unix://${socket}`,
      '--metrics-bind-address',
      '0',
      // By default kine opens a connection per request and closes all but two again.
      '--datastore-max-open-connections',
      kineConnections,
      '--datastore-max-idle-connections',
      kineConnections,
      '--emulated-etcd-version',
      emulatedEtcdVersion,
      '--watch-progress-notify-interval',
      progressInterval,
    ],
    env: { ...goLimits(4, kineMiB), KINE_ENDPOINT: database },
  };
  // That of the generation before runs on until the new one serves.
  const name = generation === 1 ? 'kine' : `kine-${generation}`;
  return { ...made, hash: hashOfProgram(run, made), listens: 'itself', log: name, name };
}

/** One member of the cluster's etcd. Its ports are its own for good: the other members know them. */
export function wantEtcd(run: RunSpec, store: EtcdSpec, member: MemberRecord, token: string): WantedProgram {
  const { programs, limits, quotaBytes, generation, dir } = store;
  const args = etcdArguments({ member, token, keysDir: run.keysDir, dataDir: join(dir, member.name, 'data'), quotaBytes });
  const made: ProgramSpec = { kind: 'etcd', program: programs.etcd, args: () => args, env: goLimits(limits.processors, limits.memoryMiB) };
  const hash = hashOfProgram(run, made);
  return { ...made, hash, listens: 'itself', log: `etcd-${member.name}`, name: `etcd-${generation}-${member.name}` };
}

interface EtcdRun {
  member: MemberRecord;
  token: string;
  keysDir: string;
  dataDir: string;
  quotaBytes: number;
}

export function etcdArguments({ member, token, keysDir, dataDir, quotaBytes }: EtcdRun): string[] {
  const at = (name: string) => join(keysDir, name);
  return [
    `--name=${member.name}`,
    `--data-dir=${dataDir}`,
    `--listen-client-urls=${clientUrlOf(member)}`,
    `--listen-client-http-urls=${gatewayUrlOf(member)}`,
    `--advertise-client-urls=${clientUrlOf(member)}`,
    `--listen-peer-urls=${peerUrlOf(member)}`,
    `--initial-advertise-peer-urls=${peerUrlOf(member)}`,
    `--initial-cluster=${member.initial}`,
    `--initial-cluster-state=${member.isFirst ? 'new' : 'existing'}`,
    `--initial-cluster-token=${token}`,
    `--cert-file=${at('etcd.crt')}`,
    `--key-file=${at('etcd.key')}`,
    '--client-cert-auth=true',
    `--trusted-ca-file=${at('etcd-authority.crt')}`,
    `--peer-cert-file=${at('etcd-peer.crt')}`,
    `--peer-key-file=${at('etcd-peer.key')}`,
    '--peer-client-cert-auth=true',
    `--peer-trusted-ca-file=${at('etcd-authority.crt')}`,
    '--tls-min-version=TLS1.2',
    `--quota-backend-bytes=${quotaBytes}`,
    // The apiserver compacts.
    '--auto-compaction-retention=0',
    '--logger=zap',
    '--log-level=warn',
  ];
}

/** `endpoints`: the members of its etcd that stay; of kine there is one. */
export function wantApiservers(run: RunSpec, endpoints: readonly MemberRecord[]): WantedProgram[] {
  const limits = limitsOf(run.tier);
  return Array.from({ length: run.replicas }, (_, index) =>
    makeWanted(
      run,
      {
        kind: 'kube-apiserver',
        program: join(run.binaries.dir, 'kube-apiserver'),
        args: (port) => apiserverArguments(run, storeArguments(run, endpoints), port),
        env: goLimits(limits.processors, limits.apiserverMiB),
      },
      index,
      'free',
    ),
  );
}

function storeArguments({ keysDir, store }: RunSpec, endpoints: readonly MemberRecord[]): string[] {
  if (store.kind === 'kine') return [`--etcd-servers=unix://${store.socket}`];
  const at = (name: string) => join(keysDir, name);
  return [
    `--etcd-servers=${endpoints.map(clientUrlOf).join(',')}`,
    `--etcd-cafile=${at('etcd-authority.crt')}`,
    `--etcd-certfile=${at('etcd-client.crt')}`,
    `--etcd-keyfile=${at('etcd-client.key')}`,
  ];
}

function apiserverArguments({ endpoint, keysDir, inflight, network }: RunSpec, store: readonly string[], port: number): string[] {
  const at = (name: string) => join(keysDir, name);
  return [
    ...store,
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
  return makeWanted(run, { kind: 'kube-controller-manager', program, args: () => args, env }, undefined, 'itself');
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
    'itself',
  );
}

/** The restart delay after the n-th consecutive early exit. */
export const restartDelaySeconds = (ends: number): number => (ends <= 1 ? 0 : Math.min(60, 2 ** (ends - 2)));
