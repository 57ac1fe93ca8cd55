import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { enqueue, job } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('a job that turns up long after it was due is found within a second, though newer ones keep the lane busy', async (t) => {
  const { app, worker, sql } = await workbench(t);
  const ran: string[] = [];
  const work = job('work', {}, async ({ key }) => void ran.push(key));
  worker([work]);
  let over = false;
  const busy = (async () => {
    for (let i = 0; !over; i++) {
      await app.db.write((tx) => enqueue(tx, work, { key: `new ${i}` }));
      await sleep(5);
    }
  })();
  await eventually('the lane is busy', () => ran.length > 20);
  // Like a transaction that took long to commit, or the lease of a crashed worker: far behind the position of current claims.
  await sql(
    `insert into kernel.job (lane, kind, key, run_at, created_at) values ('default', 'work', 'old', kernel.now() - interval '1 hour', kernel.now())`,
  );
  const since = performance.now();
  await eventually('the old one ran', () => ran.includes('old'));
  assert.ok(performance.now() - since < 3_000);
  over = true;
  await busy;
});
