import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { enqueue, job } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('when the clock leaps over the lease of a running job, its own process does not run it again', async (t) => {
  const { app, worker, advance, count } = await workbench(t);
  let began = 0;
  const go = Promise.withResolvers<void>();
  const work = job('work', {}, async () => {
    began++;
    await go.promise;
  });
  worker([work]);
  await app.db.write((tx) => enqueue(tx, work, { key: 'a' }));
  await eventually('it runs', () => began === 1);
  await advance(86_400);
  await app.db.write((tx) => enqueue(tx, work, { key: 'b' }));
  await eventually('the worker has looked since', () => began === 2);
  await sleep(100);
  assert.equal(began, 2);
  go.resolve();
  await eventually('both are done', async () => (await count()) === 0);
});
