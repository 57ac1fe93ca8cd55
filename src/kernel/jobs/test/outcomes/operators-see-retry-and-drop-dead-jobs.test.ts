import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enqueue, enqueueMany, job, jobAdmin, jobFigures } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('operators see what is dead and what waits longest, and retry or drop it', async (t) => {
  const { app, worker, advance, count, sql } = await workbench(t);
  let broken = true;
  const work = job('work', { lane: 'mail', maxAttempts: 1 }, async () => {
    if (broken) throw new Error('the relay is away');
  });
  const unknown = job('from-a-newer-release', { lane: 'webhook' }, async () => {});
  worker([work]);
  await app.db.write((tx) =>
    enqueueMany(
      tx,
      work,
      ['a', 'b', 'c'].map((key) => ({ key, org: 'org_1', requestId: 'req_1' })),
    ),
  );
  await app.db.write((tx) => enqueue(tx, unknown, { key: 'u' }));
  await eventually('three are dead', async () => (await count('dead_at is not null')) === 3);
  await advance(120);

  const figures = await app.db.read(jobFigures);
  assert.equal(figures.dead, 3);
  const waiting = Object.fromEntries(figures.lanes.map((l) => [l.lane, Math.round(l.oldest_due_seconds / 60)]));
  assert.deepEqual(waiting, { page: 0, mail: 0, webhook: 2, default: 0 });
  assert.deepEqual(
    (await app.db.read((tx) => jobAdmin.oldestDue(tx))).map((j) => [j.lane, j.kind, j.key]),
    [['webhook', 'from-a-newer-release', 'u']],
  );

  const dead = await app.db.read((tx) => jobAdmin.deadJobs(tx, { kind: 'work' }));
  assert.deepEqual(dead.map((j) => [j.key, j.attempts, j.last_error, j.org_id, j.request_id]).toSorted(), [
    ['a', 1, 'the relay is away', 'org_1', 'req_1'],
    ['b', 1, 'the relay is away', 'org_1', 'req_1'],
    ['c', 1, 'the relay is away', 'org_1', 'req_1'],
  ]);
  const [a, b, c] = ['a', 'b', 'c'].map((key) => dead.find((j) => j.key === key)!.id);

  await app.db.write((tx) => jobAdmin.dropJob(tx, c!));
  await assert.rejects(
    app.db.write((tx) => jobAdmin.dropJob(tx, c!)),
    { message: 'unknown job' },
  );
  await app.db.write((tx) => enqueue(tx, work, { key: 'b', delaySeconds: 3_600 }));
  await assert.rejects(
    app.db.write((tx) => jobAdmin.retryDead(tx, b!)),
    /a newer job with the key of \d+ is unfinished/,
  );
  await app.db.write((tx) => jobAdmin.retryDead(tx, a!));
  await eventually('a is dead again', async () => (await count(`key = 'a' and dead_at is not null and attempts = 1`)) === 1);

  broken = false;
  await app.db.write((tx) => enqueue(tx, work, { key: 'a', delaySeconds: 0 }));
  await eventually('a new one with its key is done', async () => (await count(`key = 'a' and dead_at is null`)) === 0);
  await sql(
    `insert into kernel.job (lane, kind, key, run_at, created_at, dead_at) select lane, kind, key, run_at, created_at, dead_at from kernel.job where key = 'a'`,
  );
  assert.equal(await app.db.write((tx) => jobAdmin.retryAllDead(tx)), 1, 'of two with one key the newer; none whose key waits already');
  await eventually('it is done', async () => (await count(`key = 'a'`)) === 1);
  await assert.rejects(
    app.db.write((tx) => jobAdmin.retryDead(tx, 999_999)),
    { message: 'unknown dead job' },
  );
});
