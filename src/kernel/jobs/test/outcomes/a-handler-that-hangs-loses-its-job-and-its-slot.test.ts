import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enqueue, job } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('a handler that hangs beyond its deadline loses its job and its slot, and cannot finish the job later', async (t) => {
  const { app, worker, advance, count, sql } = await workbench(t);
  const attempts: number[] = [];
  const refused: string[] = [];
  const wake = Promise.withResolvers<void>();
  const hang = job('hang', { deadlineSeconds: 0.2 }, async ({ attempt, finishWith }) => {
    attempts.push(attempt);
    if (attempt > 1) return;
    await wake.promise;
    await finishWith(async () => {}).catch((error: Error) => refused.push(error.name));
  });
  const crew = worker([hang], { lanes: { default: 1 } });
  await app.db.write((tx) => enqueue(tx, hang, { key: 'a' }));
  await eventually('the first attempt has failed', async () => (await count('attempts = 1 and lease is null')) === 1);
  assert.deepEqual(await sql('select last_error from kernel.job'), [{ last_error: 'it did not end within its deadline of 0.2 s' }]);
  assert.equal(crew.snapshot().lanes.default.running, 0);
  wake.resolve();
  await eventually('the late end is refused', () => refused.length === 1);
  assert.deepEqual(refused, ['LeaseLost']);
  await advance(10);
  await eventually('the second attempt finished it', async () => (await count()) === 0);
  assert.deepEqual(attempts, [1, 2]);
});
