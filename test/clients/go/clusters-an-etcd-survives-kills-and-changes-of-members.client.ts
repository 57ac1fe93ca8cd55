import assert from 'node:assert/strict';
import { readdir, rm } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runOf } from '../../../src/areas/clusters/test/process/support.ts';
import type { Caller } from '../../harness/index.ts';
import { eventually } from '../../harness/process.ts';
import { assertNothingLost, dedicatedCluster, steadyLoad } from './clusters-support.ts';
import { patience } from './kubernetes-support.ts';

const isSettled = async (owner: Caller) => (await owner.get('/clusters/prod')).body.phase === 'ready';

async function patch(owner: Caller, datastore: object) {
  const { status, body } = await owner.patch('/clusters/prod', { datastore });
  assert.equal(status, 200, JSON.stringify(body));
  await eventually(() => isSettled(owner), patience);
}

type Load = ReturnType<typeof steadyLoad>;
const tell = (t: TestContext, what: string, { figures, failures, acknowledged }: Load) =>
  t.diagnostic(
    `${what}: ${figures.sent} requests, ${failures.length} failed ${JSON.stringify(failures.slice(0, 3))}, ${acknowledged.size} creations acknowledged; slowest ${figures.slowestMs.toFixed(0)} ms; load ${loadavg()[0]!.toFixed(1)}`,
  );

/** Only writes that the killed program had in hand may fail: doing them again could do them twice. */
function assertOnlyInHand(load: Load, killedAt: number) {
  const others = load.failures.filter(({ method, sentAt }) => method === 'GET' || method === 'LIST' || sentAt > killedAt + 100);
  assert.deepEqual(others, []);
  assert.ok(load.failures.length <= 2, `${load.failures.length} writes were in hand`);
}

test('one member: kill -9 under load fails no request but a write in hand, and loses no acknowledged one', {
  timeout: 600_000,
}, async (t) => {
  const { owner, admin, members, list } = await dedicatedCluster(t, {});
  const load = steadyLoad(admin, 'one');
  t.after(load.stop);
  for (let round = 0; round < 3; round++) {
    await load.go(3_000);
    const [before] = await members();
    const killedAt = performance.now();
    process.kill(before!.pid!, 'SIGKILL');
    await eventually(async () => (await members())[0]!.status !== undefined && (await members())[0]!.pid !== before!.pid, patience);
    t.diagnostic(`the member is back after ${((performance.now() - killedAt) / 1000).toFixed(1)} s`);
    await load.go(5_000);
    assertOnlyInHand(load, killedAt);
    load.failures.length = 0;
  }
  await load.stop();
  tell(t, 'one member', load);
  await assertNothingLost(list, load.acknowledged);
  await eventually(() => isSettled(owner), patience);
});

test('one member rolls, grows to three and shrinks again under load without a failed request', { timeout: 900_000 }, async (t) => {
  const { owner, admin, members, list } = await dedicatedCluster(t, {});
  const changes: [what: string, datastore: object, count: number][] = [
    ['a larger size', { size: 'db-medium' }, 1],
    ['more room', { storageGiB: 2 }, 1],
    ['three members', { replicas: 3 }, 3],
    ['a larger size of three', { size: 'db-large' }, 3],
    ['one member again', { replicas: 1 }, 1],
  ];
  for (const [n, [what, datastore, count]] of changes.entries()) {
    const load = steadyLoad(admin, `c${n}`);
    const began = performance.now();
    await patch(owner, datastore);
    const tookMs = performance.now() - began;
    await load.go(1_000);
    await load.stop();
    tell(t, `${what}, in ${(tookMs / 1000).toFixed(1)} s`, load);
    assert.deepEqual(load.failures, []);
    await assertNothingLost(list, load.acknowledged);
    assert.equal((await members()).length, count);
  }
  const { datastore } = (await owner.get('/clusters/prod/usage')).body;
  assert.deepEqual([datastore.quotaBytes, datastore.members], [2 * 2 ** 30, 1]);
});

test('three members: kill -9 of a follower and of the leader under load, and a member that is lost is replaced', {
  timeout: 900_000,
}, async (t) => {
  const { owner, admin, dataDir, members, list } = await dedicatedCluster(t, { replicas: 3 });
  for (const which of ['follower', 'leader'] as const) {
    const load = steadyLoad(admin, which);
    await load.go(3_000);
    const all = await members();
    const victim = all.find(({ isLeader }) => isLeader === (which === 'leader'))!;
    const killedAt = performance.now();
    process.kill(victim.pid!, 'SIGKILL');
    await eventually(async () => (await members()).every(({ status }) => status !== undefined && status.leader !== '0'), patience);
    await load.go(9_000);
    await load.stop();
    tell(t, `the ${which} is killed`, load);
    assertOnlyInHand(load, killedAt);
    await assertNothingLost(list, load.acknowledged);
    await eventually(() => isSettled(owner), patience);
  }
  const load = steadyLoad(admin, 'lost');
  const [lost] = (await members()).filter(({ isLeader }) => !isLeader);
  const [cluster] = await readdir(await runOf(dataDir));
  process.kill(lost!.pid!, 'SIGKILL');
  await rm(join(dataDir, 'clusters', 'stores', cluster!, 'etcd-1', lost!.name), { recursive: true });
  await eventually(async () => {
    const now = await members().catch(() => []);
    return now.length === 3 && now.every(({ name, status }) => name !== lost!.name && status !== undefined && !status.isLearner);
  }, patience);
  await eventually(() => isSettled(owner), patience);
  await load.stop();
  tell(t, 'a lost member is replaced', load);
  assert.ok(load.failures.length <= 2, JSON.stringify(load.failures));
  await assertNothingLost(list, load.acknowledged);
});
