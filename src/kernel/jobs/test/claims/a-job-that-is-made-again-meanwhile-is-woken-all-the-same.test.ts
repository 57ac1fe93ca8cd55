import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row } from '../../../db/index.ts';
import { cancel, enqueue, job, moveOrEnqueue } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

const CountRow = Type.Object({ n: Type.Integer() });

test('a wake during a transaction that ends a job and inserts it again for later wakes the new one', async (t) => {
  const { app, count } = await workbench(t);
  const walk = job('walk', {}, async () => {});
  await app.db.write((tx) => enqueue(tx, walk, { key: 'a' }));
  const isMade = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const made = app.db.write(async (tx) => {
    await cancel(tx, walk, 'a');
    await enqueue(tx, walk, { key: 'a', delaySeconds: 3_600 });
    isMade.resolve();
    await go.promise;
  });
  await isMade.promise;
  const woken = app.db.write((tx) => moveOrEnqueue(tx, walk, { key: 'a' }));
  const waiting = () =>
    app.db.read((tx) => row(tx, CountRow)`select count(*)::int as n from pg_locks where not granted and locktype = 'transactionid'`);
  await eventually('it waits for the row', async () => (await waiting())!.n > 0);
  go.resolve();
  await Promise.all([made, woken]);
  assert.equal(await count('run_at <= kernel.now()'), 1);
});
