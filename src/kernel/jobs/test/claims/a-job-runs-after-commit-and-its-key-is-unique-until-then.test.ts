import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { cancel, enqueue, enqueueMany, job, reschedule } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('a job runs once its transaction has committed, and its key stands for it until it is finished', async (t) => {
  const { app, worker, count, sql } = await workbench(t);
  const ran: { key: string; payload: { n: number }; org?: string; requestId?: string }[] = [];
  const greet = job('greet', { payload: Type.Object({ n: Type.Integer() }) }, async ({ key, payload, org, requestId }) => {
    ran.push({ key, payload, org, requestId });
  });

  await assert.rejects(
    app.db.write(async (tx) => {
      await enqueue(tx, greet, { key: 'never', payload: { n: 0 } });
      throw new Error('the cause did not happen');
    }),
  );
  assert.equal(await count(), 0, 'a job exists only if what caused it does');

  const first = await app.db.write((tx) => enqueue(tx, greet, { key: 'a', payload: { n: 1 }, org: 'org_1', requestId: 'req_1' }));
  const again = await app.db.write((tx) => enqueue(tx, greet, { key: 'a', payload: { n: 2 } }));
  assert.deepEqual([first, again], [true, false]);
  const many = await app.db.write((tx) =>
    enqueueMany(
      tx,
      greet,
      ['c', 'a', 'b', 'c'].map((key, n) => ({ key, payload: { n } })),
    ),
  );
  assert.equal(many, 2, 'only the new ones, each once');

  await app.db.write((tx) => enqueue(tx, greet, { key: 'later', payload: { n: 9 }, delaySeconds: 3_600 }));
  await app.db.write((tx) => enqueue(tx, greet, { key: 'cancelled', payload: { n: 9 }, delaySeconds: 3_600 }));
  assert.equal(await app.db.write((tx) => cancel(tx, greet, 'cancelled')), 'waiting');
  assert.equal(await app.db.write((tx) => cancel(tx, greet, 'cancelled')), undefined);

  worker([greet]);
  await eventually('three jobs ran', () => ran.length === 3);
  await eventually('and are gone', async () => (await count()) === 1);
  assert.deepEqual(
    ran.find((r) => r.key === 'a'),
    { key: 'a', payload: { n: 1 }, org: 'org_1', requestId: 'req_1' },
  );

  assert.equal(await app.db.write((tx) => reschedule(tx, greet, 'later')), true);
  await eventually('what was due in an hour ran when it was asked to', () => ran.some((r) => r.key === 'later'));
  await eventually('nothing is left', async () => (await count()) === 0);
  assert.equal(await app.db.write((tx) => reschedule(tx, greet, 'later')), false);

  assert.equal(await app.db.write((tx) => enqueue(tx, greet, { key: 'a', payload: { n: 3 } })), true, 'a finished key is free again');
  await eventually('it ran again', () => ran.filter((r) => r.key === 'a').length === 2);
  assert.deepEqual(await sql('select count(*)::int as n from kernel.job where dead_at is not null'), [{ n: 0 }]);
});
