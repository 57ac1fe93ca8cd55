import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enqueue, job } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('a job whose workers vanish each time is dead once its attempts are used up, without being run again', async (t) => {
  const { app, worker, count, sql } = await workbench(t);
  let ran = 0;
  const poison = job('poison', { maxAttempts: 3 }, async () => void ran++);
  await app.db.write((tx) => enqueue(tx, poison, { key: 'a' }));
  // The rows of three workers that it killed.
  await sql(`update kernel.job set attempts = 3, lease = gen_random_uuid(), lease_until = kernel.now() - interval '1 second'`);
  worker([poison]);
  await eventually('it is dead', async () => (await count('dead_at is not null')) === 1);
  assert.equal(ran, 0);
  assert.match(
    String((await sql('select last_error from kernel.job'))[0]!['last_error']),
    /^its worker vanished while running it, and 3 attempts are used up/,
  );
});
