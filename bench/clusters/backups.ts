// A backup of a cluster with many objects, taken while a client goes on: how long it takes, and what it costs the client's requests. It is asked for
// as the operator's command does, but from this process: the start of a command costs the cores that requests need, and is measured by itself, with
// a command that only lists. Needs Kubernetes' programs in QUARTERDECK_CLUSTER_BINARIES, etcd among them.
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:https';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { withSession } from '../../src/admin/session.ts';
import { askForBackup, followBackup, listClusterBackups } from '../../src/areas/clusters/index.ts';
import { listInstalled } from '../../src/drivers/process/index.ts';
import type { Db } from '../../src/kernel/db/index.ts';
import { mainProgram } from '../../test/harness/built.ts';
import { startServer } from '../../test/harness/process.ts';
import { ask, makeUsable, type Way } from './cluster-client.ts';
import { at, figure } from './figure.ts';

const objects = 10_000;
const perSecond = 50;
const calmMs = 10_000;
const datastores = ['shared', 'dedicated'];
const maps = '/api/v1/namespaces/default/configmaps';
const mapOf = (name: string, text: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text } });

/** `only`: one of the datastores. */
export async function measureBackups(rounds: number, only?: string): Promise<void> {
  const binaries = process.env['QUARTERDECK_CLUSTER_BINARIES'] ?? '';
  const newest = binaries === '' ? undefined : (await listInstalled(binaries)).at(-1);
  if (!newest) return console.log('skipped: this machine lacks Kubernetes’ programs (name their folder in QUARTERDECK_CLUSTER_BINARIES)');
  console.log(
    `${newest.version}, ${availableParallelism()} cores, shared by everything below; load average before: ${loadavg()[0]!.toFixed(1)}\n`,
  );
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(dir, 0o755);
  const { server, end } = startServer({ dir, env: { QUARTERDECK_CLUSTER_BINARIES: binaries, QUARTERDECK_LOG_LEVEL: 'error' } });
  process.env['QUARTERDECK_DATA'] = join(dir, 'data');
  const list = (name: string) => promisify(execFile)(process.execPath, [mainProgram(), 'admin', 'clusters', 'backups', 'list', name]);
  try {
    await server.ready;
    const owner = await server.owner();
    for (const mode of datastores.filter((each) => only === undefined || each === only)) {
      const datastore = mode === 'dedicated' ? { mode, storageGiB: 1 } : { mode };
      const way = await makeUsable(owner, mode, { orchestratorVersion: newest.version, datastore });
      await withSession(({ db }) =>
        measureStore(way, mode, { list: () => list(mode), take: () => take(db, mode), check: () => untilChecked(db, mode) }, rounds),
      );
      await owner.delete(`/clusters/${mode}`);
      while ((await owner.get(`/clusters/${mode}`)).status !== 404) await sleep(50);
    }
    await server.stopped();
  } finally {
    await end();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** Until its row is complete. */
async function take(db: Db, name: string): Promise<void> {
  const { cluster, newest } = await db.write((tx) => askForBackup(tx, name));
  for (;;) {
    const found = await db.read((tx) => followBackup(tx, cluster.id, newest));
    if (found.is === 'done') return;
    if (found.is === 'failed') throw new Error(found.why);
    await sleep(100);
  }
}

/** The first backup is checked at once, and no other one that day. */
async function untilChecked(db: Db, name: string): Promise<void> {
  while (!(await db.read((tx) => listClusterBackups(tx, name))).backups.some(({ checked_at }) => checked_at !== null)) await sleep(100);
}

interface Acts {
  list(): Promise<unknown>;
  take(): Promise<unknown>;
  check(): Promise<unknown>;
}

async function measureStore(way: Way, mode: string, acts: Acts, rounds: number): Promise<void> {
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
  const beside = async (act: () => Promise<unknown>) => {
    const requests = startRequests(way, agent);
    const began = performance.now();
    await act();
    const seconds = (performance.now() - began) / 1000;
    const times = await requests.stop();
    await sleep(2_000);
    return { seconds, times };
  };
  const { times: alone } = await beside(() => sleep(calmMs));
  await acts.take();
  const checked = await beside(acts.check);
  const all: { p99: number; calm: number; list: number; took: number; backup: number }[] = [];
  for (let n = 0; n < rounds; n++) {
    const { times: calm } = await beside(() => sleep(calmMs));
    const p99 = at(calm, 0.99);
    const listed = await beside(acts.list);
    const taken = await beside(acts.take);
    const ofP99 = (times: readonly number[]) => Math.max(...times) / p99;
    all.push({
      p99,
      calm: ofP99(calm),
      list: ofP99(listed.times),
      took: taken.seconds,
      backup: ofP99(taken.times),
    });
  }
  agent.destroy();
  figure(`${mode}: check of a backup`, checked.seconds, 's');
  figure(`${mode}: the slowest beside it, of the p99 before`, Math.max(...checked.times) / at(alone, 0.99), '×');
  const of = (field: keyof (typeof all)[number]) => all.map((round) => round[field]);
  const spread = (field: keyof (typeof all)[number]) => `(${Math.min(...of(field)).toFixed(2)}–${Math.max(...of(field)).toFixed(2)})`;
  const middle = (field: keyof (typeof all)[number]) => at(of(field), 0.5);
  figure(`${mode}: backup of ${objects} objects ${spread('took')}`, middle('took'), 's', '< 5', middle('took') < 5);
  figure(`${mode}: requests before, ${perSecond} a second: p99 ${spread('p99')}`, middle('p99'), 'ms');
  figure(`${mode}: the slowest of them, of that p99 ${spread('calm')}`, middle('calm'), '×');
  figure(`${mode}: the slowest beside a command that lists ${spread('list')}`, middle('list'), '×');
  figure(`${mode}: the slowest beside a backup ${spread('backup')}`, middle('backup'), '×', '≤ 2', middle('backup') <= 2);
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
