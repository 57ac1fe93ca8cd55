import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { freePort } from '../../../../../test/harness/free-port.ts';
import type { Caller } from '../../../../../test/harness/index.ts';
import { eventually, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';
import { fakeBinaries, programsIn, recordsBelow, runOf } from './support.ts';

interface Stage {
  dataDir: string;
  owner: Caller;
  /** Of each cluster, by its name. */
  dirs: Record<string, string>;
  findDir(name: string): Promise<string | undefined>;
  /** kill -9 of the server, and another one. */
  restart(): Promise<Caller>;
  /** The server, then what it left running. */
  end(): Promise<void>;
}

/** A server with its own PostgreSQL, and one cluster in each phase: `kept` is ready, `changed` is changed, `made` is made, `gone` is deleted. */
async function stage(t: TestContext): Promise<Stage> {
  const binaries = await fakeBinaries(t);
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const env = { QUARTERDECK_CLUSTER_BINARIES: binaries, QUARTERDECK_CLUSTER_LISTEN: `127.0.0.1:${await freePort()}` };
  let server = serverProcess(t, { dir, dataDir, env });
  await server.ready;
  const owner = await server.owner();
  const run = await runOf(dataDir);
  const dirs: Record<string, string> = {};
  /** The API tells no ids: the directory that is new is the new cluster's. */
  const findDir = async (name: string) => {
    const found = (await readdir(run)).map((id) => join(run, id)).find((each) => !Object.values(dirs).includes(each));
    if (found) dirs[name] = found;
    return found;
  };
  for (const name of ['kept', 'changed', 'gone']) {
    await readyCluster(owner, { name });
    await findDir(name);
  }
  // So that nobody is through before the kill.
  await misbehave(binaries, { 'kube-apiserver': { slowStartMs: 1_500 } });
  const restart = async () => {
    await server.killed();
    server = serverProcess(t, { dir, dataDir, env });
    await server.ready;
    return server.owner();
  };
  const end = async () => {
    await server.killed();
    for (const pid of await programsIn(dataDir)) process.kill(pid, 'SIGKILL');
  };
  return { dataDir, owner, restart, end, dirs, findDir };
}

const pids = async (dir: string) => (await recordsBelow(dir)).map(({ pid }) => pid).sort();

/** Kills while one cluster is made, one changed and one deleted; what comes of it must be what was asked for, and the fourth must not notice. */
export async function killInEveryPhase(
  t: TestContext,
  kill: (stage: Stage, others: string[]) => Promise<Caller | undefined>,
): Promise<void> {
  const all = await stage(t);
  try {
    await killWhileAllAreBusy(all, kill);
  } finally {
    await all.end();
  }
}

async function killWhileAllAreBusy(all: Stage, kill: (stage: Stage, others: string[]) => Promise<Caller | undefined>): Promise<void> {
  const { dataDir, owner, dirs, findDir } = all;
  const run = await runOf(dataDir);
  const kept = dirs['kept']!;
  const before = await pids(kept);
  const way = await adminOf(owner, 'changed');
  assert.equal((await owner.post('/clusters', { name: 'made', tier: 'small' })).status, 201);
  assert.equal((await owner.patch('/clusters/changed', { tier: 'medium', replicas: 2 })).status, 200);
  await eventually(() => findDir('made'));
  const others = ['made', 'changed', 'gone'].map((name) => dirs[name]!);
  // Until the new apiservers of both are on their way: one of `made`, two beside the old one of `changed`.
  const isUnderWay = async () => {
    const [made, changed] = await Promise.all(
      others.map(async (dir) => (await recordsBelow(dir)).filter(({ kind }) => kind === 'kube-apiserver').length),
    );
    return made === 1 && changed === 3;
  };
  await eventually(isUnderWay, { withinMs: 60_000 });
  assert.equal((await owner.delete('/clusters/gone')).status, 202);
  const now = (await kill(all, others)) ?? owner;

  await untilReady(now, 'made');
  const changed = await untilReady(now, 'changed');
  assert.deepEqual([changed.tier, changed.replicas], ['medium', 2]);
  await eventually(async () => (await now.get('/clusters/gone')).status === 404, { withinMs: 60_000 });
  await eventually(async () => (await kube(way, 'GET', '/api/v1/namespaces/kube-system').catch(() => undefined))?.status === 200);
  assert.equal((await kube(await adminOf(now, 'made'), 'GET', '/api/v1/namespaces/kube-system')).status, 200);
  assert.deepEqual(await pids(kept), before, 'a healthy control plane is not restarted');
  assert.equal((await kube(await adminOf(now, 'kept'), 'GET', '/api/v1/namespaces/kube-system')).status, 200);
  // Old apiservers have left, and nothing runs that has no record.
  const isTidy = async () => {
    const known = (await recordsBelow(run)).map(({ pid }) => pid).sort();
    const running = (await programsIn(dataDir)).sort();
    return known.length === 3 + 4 + 3 && known.join() === running.join();
  };
  await eventually(isTidy, { withinMs: 60_000 });
}
