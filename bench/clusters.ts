/**
 * What embedded clusters promise, measured on the real program over one PostgreSQL with fsync: how soon a new one can be used, what each costs
 * in memory, how long a list of a hundred takes, and what a thousand nodes that renew their leases do to everybody else.
 * `npm run bench -- clusters`; `npm run bench -- clusters real [rounds]` for Kubernetes' own programs, with a shared and a dedicated datastore,
 * beside the same ones with etcd by hand; `npm run bench -- clusters backups [rounds] [shared | dedicated]` for a backup under load; and
 * `npm run bench -- clusters balancer [rounds]` for a managed load balancer beside haproxy.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:https';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer } from '../test/harness/process.ts';
import type { Caller } from '../test/harness/request.ts';
import { measureBackups } from './clusters/backups.ts';
import { measureBalancer } from './clusters/balancer.ts';
import { ask, makeUsable, type Way } from './clusters/cluster-client.ts';
import { at, figure } from './clusters/figure.ts';
import { residentOf } from './clusters/memory.ts';
import { measureReal } from './clusters/real.ts';

const created = 30;
const inAll = 100;
const lists = 100;
const nodes = 1_000;
/** A kubelet renews its lease every 10 s. */
const renewSeconds = 10;
const asks = 400;

async function measure() {
  console.log(`${availableParallelism()} cores, shared by everything below; load average before: ${loadavg()[0]!.toFixed(1)}\n`);
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(dir, 0o755);
  const { server, end } = startServer({ dir, env: { QUARTERDECK_CLUSTER_QUOTA: '1000', QUARTERDECK_LOG_LEVEL: 'error' } });
  try {
    await server.ready;
    const owner = await server.owner();
    await makeUsable(owner, 'warm-up');
    await timeCreation(owner);
    await weighClusters(owner, server.pid);
    await timeLists(owner);
    await burdenWithNodes(owner);
    await server.stopped();
  } finally {
    await end();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function timeCreation(owner: Caller) {
  const times: number[] = [];
  for (let n = 0; n < created; n++) {
    const began = performance.now();
    await makeUsable(owner, `c${n}`);
    times.push(performance.now() - began);
  }
  figure(`created until it can be used, p50 of ${created}`, at(times, 0.5), 'ms');
  figure('the same, p95', at(times, 0.95), 'ms', '< 1000', at(times, 0.95) < 1_000);
}

async function weighClusters(owner: Caller, pid: number) {
  const first = created + 1;
  await sleep(2_000);
  const before = residentOf(pid);
  for (let n = created; n < inAll - 1; n += 8)
    await Promise.all(Array.from({ length: Math.min(8, inAll - 1 - n) }, (_, i) => makeUsable(owner, `c${n + i}`)));
  await sleep(5_000);
  const each = (residentOf(pid) - before) / (inAll - first);
  figure(`memory of the server with ${inAll}`, residentOf(pid), 'MiB');
  figure('each one more, in use once', each, 'MiB', '< 3', each < 3);
}

async function timeLists(owner: Caller) {
  const times: number[] = [];
  for (let n = 0; n < lists; n++) {
    const began = performance.now();
    const { body } = await owner.get('/clusters');
    if (body.clusters.length !== inAll) throw new Error(`${body.clusters.length} are listed`);
    times.push(performance.now() - began);
  }
  figure(`list of ${inAll}, p50 of ${lists}`, at(times, 0.5), 'ms');
  figure('the same, p95', at(times, 0.95), 'ms', '< 300', at(times, 0.95) < 300);
}

async function timeAsks(owner: Caller): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < asks; n++) {
    const began = performance.now();
    await owner.get('/clusters/large');
    times.push(performance.now() - began);
    await sleep(10);
  }
  return times;
}

async function burdenWithNodes(owner: Caller) {
  const way = await makeUsable(owner, 'large', { tier: 'large' });
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  const lease = (n: number) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: `node-${n}`, namespace: 'kube-node-lease' },
    spec: { holderIdentity: `node-${n}`, leaseDurationSeconds: 40, renewTime: new Date().toISOString().replace('Z', '000Z') },
  });
  const began = performance.now();
  for (let n = 0; n < nodes; n += 20)
    await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        await ask(way, agent, 'POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: `node-${n + i}` } });
        const status = await ask(way, agent, 'POST', leases, lease(n + i));
        if (status !== 201) throw new Error(`a lease was answered ${status}`);
      }),
    );
  figure(`${nodes} nodes and their leases made, each`, (performance.now() - began) / nodes, 'ms');

  const idle = await timeAsks(owner);
  const stop = new AbortController();
  const answered = { count: 0, bad: 0 };
  const renewing = renewAll(way, agent, leases, lease, stop.signal, answered);
  await sleep(2_000);
  const busy = await timeAsks(owner);
  stop.abort();
  const seconds = await renewing;
  agent.destroy();
  figure(
    'leases renewed',
    answered.count / seconds,
    '/s',
    `${nodes / renewSeconds}/s`,
    answered.count / seconds > 0.9 * (nodes / renewSeconds),
  );
  figure('of these not answered 200', answered.bad, '', '0', answered.bad === 0);
  figure('API, p99 with idle nodes', at(idle, 0.99), 'ms');
  figure('API, p99 while they renew', at(busy, 0.99), 'ms', '≤ 2×', at(busy, 0.99) <= 2 * at(idle, 0.99));
}

/** Spread evenly over the time that a kubelet leaves between two renewals; how long it went on, in seconds. */
async function renewAll(
  way: Way,
  agent: Agent,
  path: string,
  lease: (n: number) => unknown,
  signal: AbortSignal,
  answered: { count: number; bad: number },
): Promise<number> {
  const began = performance.now();
  const pending = new Set<Promise<void>>();
  for (let sent = 0; !signal.aborted; sent++) {
    const n = sent % nodes;
    const renewed = ask(way, agent, 'PUT', `${path}/node-${n}`, lease(n)).then((status) => {
      answered.count++;
      if (status !== 200) answered.bad++;
    });
    pending.add(renewed);
    void renewed.finally(() => pending.delete(renewed));
    const due = began + ((sent + 1) * renewSeconds * 1000) / nodes;
    if (due > performance.now()) await sleep(due - performance.now());
  }
  const seconds = (performance.now() - began) / 1000;
  await Promise.all(pending);
  return seconds;
}

const [, , , part, rounds = '3', only] = process.argv;
const parts: Record<string, (rounds: number, only?: string) => Promise<void>> = {
  real: measureReal,
  backups: measureBackups,
  balancer: measureBalancer,
};
await (parts[part ?? ''] ?? measure)(Number(rounds), only);
