// A backup of a cluster with many objects, taken by the operator's command while a client goes on: how long it takes, and what it costs the
// client's requests. Needs Kubernetes' programs in QUARTERDECK_CLUSTER_BINARIES, etcd among them.
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:https';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { listInstalled } from '../../src/drivers/process/index.ts';
import { mainProgram } from '../../test/harness/built.ts';
import { startServer } from '../../test/harness/process.ts';
import { ask, makeUsable, type Way } from './cluster-client.ts';
import { at, figure } from './figure.ts';

const objects = 10_000;
const perSecond = 50;
const calmMs = 10_000;
const maps = '/api/v1/namespaces/default/configmaps';
const mapOf = (name: string, text: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text } });

export async function measureBackups(rounds: number): Promise<void> {
  const binaries = process.env['QUARTERDECK_CLUSTER_BINARIES'] ?? '';
  const newest = binaries === '' ? undefined : (await listInstalled(binaries)).at(-1);
  if (!newest) return console.log('skipped: this machine lacks Kubernetes’ programs (name their folder in QUARTERDECK_CLUSTER_BINARIES)');
  console.log(
    `${newest.version}, ${availableParallelism()} cores, shared by everything below; load average before: ${loadavg()[0]!.toFixed(1)}\n`,
  );
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(dir, 0o755);
  const { server, end } = startServer({ dir, env: { QUARTERDECK_CLUSTER_BINARIES: binaries, QUARTERDECK_LOG_LEVEL: 'error' } });
  const env = { ...process.env, QUARTERDECK_DATA: join(dir, 'data') };
  const take = (name: string) =>
    promisify(execFile)(process.execPath, [mainProgram(), 'admin', 'clusters', 'backups', 'take', name], { env });
  try {
    await server.ready;
    const owner = await server.owner();
    for (const mode of ['shared', 'dedicated']) {
      const datastore = mode === 'dedicated' ? { mode, storageGiB: 1 } : { mode };
      const way = await makeUsable(owner, mode, { orchestratorVersion: newest.version, datastore });
      await measureStore(way, mode, () => take(mode), rounds);
      await owner.delete(`/clusters/${mode}`);
      while ((await owner.get(`/clusters/${mode}`)).status !== 404) await sleep(50);
    }
    await server.stopped();
  } finally {
    await end();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function measureStore(way: Way, mode: string, take: () => Promise<unknown>, rounds: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  let made = 0;
  const make = async () => {
    while (made < objects) {
      const status = await ask(way, agent, 'POST', maps, mapOf(`map-${made++}`, 'x'.repeat(1_000)));
      if (status !== 201) throw new Error(`a creation was answered ${status}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, make));
  await sleep(10_000); // until what the creations left to do is done
  const took: number[] = [];
  const ratios: number[] = [];
  const p99s: number[] = [];
  for (let n = 0; n < rounds; n++) {
    const calm = startRequests(way, agent);
    await sleep(calmMs);
    const p99 = at(await calm.stop(), 0.99);
    const beside = startRequests(way, agent);
    const began = performance.now();
    await take();
    took.push((performance.now() - began) / 1000);
    p99s.push(p99);
    ratios.push(Math.max(...(await beside.stop())) / p99);
    await sleep(2_000);
  }
  agent.destroy();
  const spread = (all: number[]) => `${Math.min(...all).toFixed(2)}–${Math.max(...all).toFixed(2)}`;
  figure(`${mode}: backup of ${objects} objects by command (${spread(took)})`, at(took, 0.5), 's', '< 5', at(took, 0.5) < 5);
  figure(`${mode}: requests before, ${perSecond} a second: p99 (${spread(p99s)})`, at(p99s, 0.5), 'ms');
  figure(`${mode}: the slowest beside it, of that p99 (${spread(ratios)})`, at(ratios, 0.5), '×', '≤ 2', at(ratios, 0.5) <= 2);
}

/** Reads, writes and short lists in turn, at a steady rate whatever becomes of them; how long each took. */
function startRequests(way: Way, agent: Agent) {
  const times: number[] = [];
  const pending = new Set<Promise<void>>();
  let isOver = false;
  const send = async (n: number) => {
    const began = performance.now();
    const name = `${maps}/map-${n % objects}`;
    const status = await [
      () => ask(way, agent, 'GET', name),
      () => ask(way, agent, 'PUT', name, mapOf(`map-${n % objects}`, `${n}`.padEnd(1_000, 'y'))),
      () => ask(way, agent, 'GET', `${maps}?limit=20`),
    ][n % 3]!();
    if (status !== 200) throw new Error(`a request was answered ${status}`);
    times.push(performance.now() - began);
  };
  const loop = (async () => {
    const began = performance.now();
    for (let n = 0; !isOver; n++) {
      const work: Promise<void> = send(n).finally(() => pending.delete(work));
      pending.add(work);
      await sleep(Math.max(0, began + ((n + 1) * 1000) / perSecond - performance.now()));
    }
  })();
  return {
    async stop() {
      isOver = true;
      await loop;
      await Promise.all(pending);
      return times;
    },
  };
}
