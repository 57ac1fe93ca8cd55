import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enqueue, job } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('what comes unheard into a lane at rest is found, whether it is due or will be', async (t) => {
  const { app, worker, sql } = await workbench(t);
  const ran: string[] = [];
  const work = job('work', {}, async ({ key }) => void ran.push(key));
  /** Like a process whose wake was lost. */
  const insertUnheard = (key: string, inSeconds = 0) =>
    sql(
      `insert into kernel.job (lane, kind, key, run_at, created_at)
       values ('default', 'work', '${key}', kernel.now() + interval '${inSeconds} s', kernel.now())`,
    );
  worker([work]);

  await insertUnheard('into an unused lane');
  await eventually('the first one ran', () => ran.length === 1);

  await app.db.write((tx) => enqueue(tx, work, { key: 'heard' }));
  await eventually('the one that was told of ran', () => ran.length === 2);

  await insertUnheard('later', 2);
  await insertUnheard('into a lane that was used');
  await eventually('both ran', () => ran.length === 4);

  await insertUnheard('into a lane that is at rest again');
  await eventually('the last one ran', () => ran.length === 5);
  assert.deepEqual(ran, ['into an unused lane', 'heard', 'into a lane that was used', 'later', 'into a lane that is at rest again']);
});
