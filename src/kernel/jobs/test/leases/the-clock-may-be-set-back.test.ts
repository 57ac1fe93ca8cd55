import assert from 'node:assert/strict';
import { test } from 'node:test';
import { housekeeping } from '../../housekeeping.ts';
import { enqueue, job, task } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('after the clock was set back, neither the jobs of a vanished worker nor tasks wait for the old time to come again', async (t) => {
  const { app, worker, advance, count, sql } = await workbench(t);
  const ran: string[] = [];
  const work = job('work', {}, async ({ key }) => void ran.push(key));
  const often = task('area.often', { everySeconds: 60, deadlineSeconds: 10 }, async () => void ran.push('task'));

  await app.db.write((tx) => enqueue(tx, work, { key: 'abandoned' }));
  await sql(
    `update kernel.job set lease = gen_random_uuid(), lease_until = kernel.now() + interval '30 s', attempts = 1, run_at = run_at - interval '3 hours'`,
  );
  await sql(
    `insert into kernel.task (name, next_at, lease, lease_until) values ('area.often', kernel.now() + interval '60 s', gen_random_uuid(), kernel.now() + interval '30 s')`,
  );
  await advance(-7_200);
  const setBack = await sql(`select lease_until > kernel.now() + interval '1 hour' as far from kernel.job`);
  assert.deepEqual(setBack, [{ far: true }]);

  worker([work], { tasks: [often], renewEveryMs: 100 });
  await housekeeping[0]!.run({ app, signal: AbortSignal.timeout(5_000), log: app.log }, undefined);
  await eventually(
    'the lease of the task is an ordinary one again',
    async () =>
      (await sql(`select 1 from kernel.task where name = 'area.often' and lease_until <= kernel.now() + interval '30 s'`)).length === 1,
  );
  assert.equal(
    await count(`lease_until > kernel.now() and lease_until <= kernel.now() + interval '30 s'`),
    1,
    'a live worker has a full lease to renew it',
  );
  assert.equal(ran.length, 0);
  await advance(31);
  await eventually('both ran', () => ran.includes('abandoned') && ran.includes('task'), 5_000);

  await app.db.write((tx) => enqueue(tx, work, { key: 'soon', delaySeconds: 100 }));
  await advance(-3_600);
  assert.equal(await count(`key = 'soon'`), 1, 'what was due at a time is due at that time, however often it comes');
  await advance(3_700);
  await eventually('then it ran', () => ran.includes('soon'));
});
