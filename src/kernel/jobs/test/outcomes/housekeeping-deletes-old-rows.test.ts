import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enqueueMany, job } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('dead jobs are kept 30 days, answers to an Idempotency-Key 24 hours', async (t) => {
  const { app, worker, advance, count, sql } = await workbench(t);
  const work = job('work', {}, async () => {});
  await app.db.write((tx) =>
    enqueueMany(
      tx,
      work,
      ['old', 'young', 'waiting'].map((key) => ({ key, delaySeconds: 1e7 })),
    ),
  );
  await sql(`update kernel.job set dead_at = kernel.now() - interval '30 days 1 minute' where key = 'old'`);
  await sql(`update kernel.job set dead_at = kernel.now() - interval '29 days' where key = 'young'`);
  await sql(`insert into kernel.idempotency (principal, route, key, body_hash, created_at)
             select 'p', 'r', hours::text, '', kernel.now() - make_interval(hours => hours) from unnest(array[1, 23, 25, 999]) hours`);
  worker([work]);
  await eventually(
    'the old ones are gone',
    async () => (await count()) === 2 && (await sql('select 1 from kernel.idempotency')).length === 2,
  );
  assert.deepEqual(
    (await sql('select key from kernel.job order by key')).map((r) => r['key']),
    ['waiting', 'young'],
  );
  await advance(86_400 + 60);
  await eventually(
    'and so, in time, are the younger',
    async () => (await count()) === 1 && (await sql('select 1 from kernel.idempotency')).length === 0,
  );
});
