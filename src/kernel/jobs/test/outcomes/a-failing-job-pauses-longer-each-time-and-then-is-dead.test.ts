import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enqueue, job, RetryAt, RetryIn } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('a failing job pauses longer each time, as long as it asks when it asks, and then is dead', async (t) => {
  const { app, worker, advance, count, sql } = await workbench(t);
  const attempts: number[] = [];
  const fail = job('fail', { maxAttempts: 4 }, async ({ attempt }) => {
    attempts.push(attempt);
    throw new Error(`no luck\u0000 at attempt ${attempt}`, { cause: new Error('the peer hung up') });
  });
  const ask = job('ask', {}, async ({ attempt, key }) => {
    if (attempt > 1) return;
    if (key === 'in') throw new RetryIn(90, 'the provider asks to wait 90 s');
    throw new RetryAt('2999-01-01T00:00:00Z', 'the provider is closed for good');
  });
  const own = job('own', { retry: (attempt) => [7, 8][attempt - 1] }, async () => {
    throw new Error('never');
  });
  worker([fail, ask, own]);
  const pause = async (kind: string) =>
    Number((await sql(`select extract(epoch from run_at - kernel.now())::float8 as s from kernel.job where kind = '${kind}'`))[0]!['s']);

  await app.db.write((tx) => enqueue(tx, fail, { key: 'a' }));
  for (const [attempt, seconds] of [5, 10, 20].entries()) {
    await eventually(
      `attempt ${attempt + 1} is over`,
      async () => (await count(`kind = 'fail' and attempts = ${attempt + 1} and lease is null`)) === 1,
    );
    const paused = await pause('fail');
    assert.ok(paused > seconds * 0.8 - 2 && paused <= seconds * 1.2, `paused ${paused} s after attempt ${attempt + 1}`);
    await advance(seconds * 1.2);
  }
  await eventually('it is dead', async () => (await count(`kind = 'fail' and dead_at is not null`)) === 1);
  assert.deepEqual(attempts, [1, 2, 3, 4]);
  assert.deepEqual(await sql('select last_error, attempts from kernel.job'), [
    { last_error: 'no luck at attempt 4: the peer hung up', attempts: 4 },
  ]);
  assert.equal(
    await app.db.write((tx) => enqueue(tx, fail, { key: 'a', delaySeconds: 999 })),
    true,
    'a dead job does not stand in the way of a new one',
  );

  await app.db.write((tx) => enqueue(tx, ask, { key: 'in' }));
  await eventually('it asked for 90 s', async () => (await count(`key = 'in' and last_error is not null`)) === 1);
  assert.ok(Math.abs((await pause('ask')) - 90) < 2);
  await advance(90);
  await eventually('and was done then', async () => (await count(`key = 'in'`)) === 0);
  await app.db.write((tx) => enqueue(tx, ask, { key: 'at' }));
  await eventually('it asked for a day', async () => (await count(`key = 'at' and run_at = '2999-01-01T00:00:00Z'`)) === 1);

  await app.db.write((tx) => enqueue(tx, own, { key: 'x' }));
  await eventually('its own pause', async () => (await count(`kind = 'own' and attempts = 1 and lease is null`)) === 1);
  assert.ok(Math.abs((await pause('own')) - 7) < 2);
  await advance(7);
  await eventually('the second', async () => (await count(`kind = 'own' and attempts = 2 and lease is null`)) === 1);
  await advance(8);
  await eventually('no third: dead', async () => (await count(`kind = 'own' and attempts = 3 and dead_at is not null`)) === 1);
});
