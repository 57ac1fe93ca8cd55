import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enqueueMany, job, reschedule } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('a transaction that sits on one job holds up neither the others nor their claims', async (t) => {
  const { app, worker, count } = await workbench(t);
  const begun: string[] = [];
  let go = Promise.withResolvers<void>();
  const work = job('work', {}, async ({ key }) => {
    begun.push(key);
    await go.promise;
  });
  worker([work]);
  await app.db.write((tx) =>
    enqueueMany(
      tx,
      work,
      Array.from({ length: 20 }, (_, i) => ({ key: `${i}` })),
    ),
  );
  await eventually('all run', () => begun.length === 20);

  const release = Promise.withResolvers<void>();
  const sitting = app.db.write(async (tx) => {
    await reschedule(tx, work, '7', { delaySeconds: 3_600 });
    go.resolve();
    await release.promise;
  });
  await eventually('all others are finished meanwhile', async () => (await count()) === 1, 2_000);
  go = Promise.withResolvers();
  go.resolve();
  await app.db.write((tx) => enqueueMany(tx, work, [{ key: 'x' }, { key: 'y' }]));
  await eventually('new ones run meanwhile', () => begun.length === 22, 2_000);
  release.resolve();
  await sitting;
  await eventually(
    'the locked one is settled as its transaction said',
    async () => (await count(`key = '7' and lease is null and run_at > kernel.now() + interval '59 min'`)) === 1,
  );
  assert.equal(begun.filter((key) => key === '7').length, 1);
});
