// The same programs with etcd instead of kine, and nothing in front: as somebody starts them who has no Quarterdeck. The flags are ours, so that what
// differs is the store, the way to the apiserver, and who looks after it all. What counts is the same as well: from the moment that somebody wants a
// cluster until its keys are made, its programs are started, it says that it is ready, it holds what `kubeadm init` puts there for nodes to join, its
// controller-manager is started, and it answers.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareCluster } from '../../src/areas/clusters/clients/tenant/prepare.ts';
import { makeInnerKeys } from '../../src/areas/clusters/engine/inner-keys.ts';
import { makeAuthority, newKey } from '../../src/areas/clusters/engine/issue.ts';
import { lifetimes } from '../../src/areas/clusters/rules/lifetimes.ts';
import { podRange, serviceRange } from '../../src/areas/clusters/rules/networks.ts';
import { tiers } from '../../src/areas/clusters/rules/tiers.ts';
import { askCluster } from '../../src/drivers/process/clients/ask.ts';
import { dialServer, makeTarget } from '../../src/drivers/process/clients/dial.ts';
import { filesOf } from '../../src/drivers/process/rules/files.ts';
import { type RunSpec, type WantedProgram, wantApiservers, wantControllerManager } from '../../src/drivers/process/rules/programs.ts';
import { freePort } from '../../test/harness/free-port.ts';
import { ask, type Way } from './cluster-client.ts';

/** In the PATH, or where QUARTERDECK_BENCH_ETCD says; undefined: there is none. */
export function findEtcd(): string | undefined {
  const program = process.env['QUARTERDECK_BENCH_ETCD'] ?? 'etcd';
  try {
    return /etcd Version: 3\./.test(execFileSync(program, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString())
      ? program
      : undefined;
  } catch {
    return undefined;
  }
}

export interface ByHand {
  way: Way;
  readyMs: number;
  pids: Record<string, number>;
  stop(): Promise<void>;
}

/** Not for us: what only our front or our own store needs. */
const onlyOurs = /^--(etcd-servers|encryption-provider-config|egress-selector-config-file)=/;

export async function startByHand(etcd: string, binaries: { dir: string; kine: string; version: string }, folder: string): Promise<ByHand> {
  rmSync(folder, { recursive: true, force: true });
  const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
  const began = performance.now();
  mkdirSync(join(folder, 'keys'), { recursive: true });
  const ca = { ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' };
  const inner = makeInnerKeys(ca);
  const files = filesOf({ ca, accountKey: newKey(), inner, egressSocket: '/nowhere' });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'keys', name), text, { mode: 0o600 });
  const server = `https://127.0.0.1:${port}`;
  const run: RunSpec = {
    tier: 'small',
    replicas: 1,
    endpoint: server,
    binaries,
    keysDir: join(folder, 'keys'),
    inflight: tiers.small.inflight,
    network: { services: serviceRange, pods: podRange },
    nodeCertificateSeconds: lifetimes.nodeCertificate,
    store: { kind: 'kine', generation: 1, socket: '', database: '' },
  };
  const started: ChildProcess[] = [];
  const start = (name: string, program: string, args: string[]) => {
    const log = openSync(join(folder, `${name}.log`), 'a');
    const child = spawn(program, args, { cwd: folder, stdio: ['ignore', log, log] });
    started.push(child);
    return child.pid!;
  };
  const startWanted = ({ kind, program, args }: WantedProgram, ...more: string[]) =>
    start(kind, program, [...args(port).filter((each) => !onlyOurs.test(each)), ...more]);

  const way: Way = { server, ca: inner.authority.certificate, cert: inner.admin.certificate, key: inner.admin.key };
  const agent = new Agent({ keepAlive: true });
  const answers = (path: string) =>
    ask(way, agent, 'GET', path).then(
      (status) => status === 200,
      () => false,
    );
  const stop = async () => {
    for (const child of started.reverse()) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      if (child.exitCode === null && child.kill('SIGTERM')) await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  };

  const urls = { client: `http://127.0.0.1:${client}`, peer: `http://127.0.0.1:${peer}` };
  const pids: Record<string, number> = {
    etcd: start('etcd', etcd, [
      `--data-dir=${join(folder, 'etcd')}`,
      `--listen-client-urls=${urls.client}`,
      `--advertise-client-urls=${urls.client}`,
      `--listen-peer-urls=${urls.peer}`,
      `--initial-advertise-peer-urls=${urls.peer}`,
      `--initial-cluster=default=${urls.peer}`,
    ]),
    'kube-apiserver': startWanted(wantApiservers(run, [])[0]!, `--etcd-servers=${urls.client}`),
  };
  while (!(await answers('/readyz'))) {
    if (started.some(({ exitCode }) => exitCode !== null) || performance.now() - began > 120_000) {
      await stop();
      throw new Error(`the programs did not start by hand; their logs were in ${folder}`);
    }
    await sleep(50);
  }
  const target = makeTarget(port, inner);
  const prepared = { name: 'by-hand', endpoint: server, version: binaries.version, caCertificate: ca.certificate };
  await prepareCluster((method, path, body) => askCluster((dialed) => dialServer(target, dialed), method, path, body), prepared);
  target.close();
  pids['kube-controller-manager'] = startWanted(wantControllerManager(run, server));
  while (!(await answers('/api/v1/namespaces'))) await sleep(5);
  const readyMs = performance.now() - began;
  agent.destroy();
  return { way, readyMs, pids, stop };
}
