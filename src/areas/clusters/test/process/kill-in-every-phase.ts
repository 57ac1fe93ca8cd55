import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import type { Caller } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';
import { programsIn, recordsBelow, runOf } from './support.ts';

/** A server with one cluster for each phase: `kept` is ready all the time; of the others one is changed and one is deleted. */
export interface Stage {
  binaries: string;
  dataDir: string;
  owner: Caller;
  /** Of each cluster, by its name. */
  dirs: Record<string, string>;
  findDir(name: string): Promise<string | undefined>;
}

export async function stageClusters(owner: Caller, dataDir: string, binaries: string): Promise<Stage> {
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
  return { binaries, dataDir, owner, dirs, findDir };
}

const pids = async (dir: string) => (await recordsBelow(dir)).map(({ pid }) => pid).sort();

/** What a kill finds: one cluster is made, one is changed to more apiservers, one is deleted. */
export interface Phases {
  made: string;
  changed: string;
  gone: string;
}

/**
 * Kills while one cluster is made, one changed and one deleted; what comes of it must be what was asked for, and the fourth must not notice.
 * `kill` returns the caller of the server that is there afterwards.
 */
export async function killWhileAllAreBusy(
  stage: Stage,
  { made, changed, gone }: Phases,
  kill: (busy: string[]) => Promise<Caller>,
): Promise<void> {
  const { binaries, dataDir, owner, dirs, findDir } = stage;
  const run = await runOf(dataDir);
  const kept = dirs['kept']!;
  const before = await pids(kept);
  const way = await adminOf(owner, changed);
  // So that no operation finishes before the kill.
  await misbehave(binaries, { 'kube-apiserver': { heldStart: true } });
  assert.equal((await owner.post('/clusters', { name: made, tier: 'small' })).status, 201);
  assert.equal((await owner.patch(`/clusters/${changed}`, { tier: 'medium', replicas: 2 })).status, 200);
  await eventually(() => findDir(made));
  const others = [made, changed, gone].map((name) => dirs[name]!);
  // Until the new apiservers of both are on their way: one of the new cluster, two beside the old one of the changed.
  const isUnderWay = async () => {
    const [ofMade, ofChanged] = await Promise.all(
      others.map(async (dir) => (await recordsBelow(dir)).filter(({ kind }) => kind === 'kube-apiserver').length),
    );
    return ofMade === 1 && ofChanged === 3;
  };
  await eventually(isUnderWay, { withinMs: 60_000 });
  assert.equal((await owner.delete(`/clusters/${gone}`)).status, 202);
  const now = await kill(others);
  await misbehave(binaries, {});

  await untilReady(now, made);
  const { tier, replicas } = await untilReady(now, changed);
  assert.deepEqual([tier, replicas], ['medium', 2]);
  await eventually(async () => (await now.get(`/clusters/${gone}`)).status === 404, { withinMs: 60_000 });
  await eventually(async () => (await kube(way, 'GET', '/api/v1/namespaces/kube-system').catch(() => undefined))?.status === 200);
  assert.equal((await kube(await adminOf(now, made), 'GET', '/api/v1/namespaces/kube-system')).status, 200);
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

/** After a first kill: what was made is changed, what was changed is deleted, and another one is made. */
export const phases: [first: Phases, second: Phases] = [
  { made: 'made', changed: 'changed', gone: 'gone' },
  { made: 'next', changed: 'made', gone: 'changed' },
];
