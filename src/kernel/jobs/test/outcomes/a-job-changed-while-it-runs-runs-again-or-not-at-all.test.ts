import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../db/index.ts';
import { cancel, enqueue, job, reschedule } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('a job rescheduled while it runs runs again; one cancelled while it runs is told, and its effects are undone', async (t) => {
  const { app, worker, count, deeds } = await workbench(t);
  let began = 0;
  let go = Promise.withResolvers<void>();
  const follow = job('follow', {}, async () => {
    began++;
    await go.promise;
  });
  const refusals: string[] = [];
  const write = job('write', {}, async ({ key, signal, finishWith, fence }) => {
    began++;
    await go.promise;
    const deed = finishWith((tx) => run(tx)`insert into public.deed (what, key) values ('written', ${key})`);
    await deed.catch((error: Error) => refusals.push(error.name));
    await app.db.write(fence).catch((error: Error) => refusals.push(error.name));
    refusals.push(signal.aborted ? 'aborted' : 'not aborted');
  });
  worker([follow, write], { renewEveryMs: 50 });

  await app.db.write((tx) => enqueue(tx, follow, { key: 'a' }));
  await eventually('it runs', () => began === 1);
  assert.equal(await app.db.write((tx) => enqueue(tx, follow, { key: 'a' })), false);
  assert.equal(await app.db.write((tx) => reschedule(tx, follow, 'a')), true);
  go.resolve();
  await eventually('it ran again: what it had read may have changed', () => began === 2);
  await eventually('and no third time', async () => (await count()) === 0);

  go = Promise.withResolvers();
  await app.db.write((tx) => enqueue(tx, write, { key: 'b' }));
  await eventually('it runs', () => began === 3);
  assert.equal(await app.db.write((tx) => cancel(tx, write, 'b')), 'running');
  await app.db.write((tx) => enqueue(tx, write, { key: 'c', delaySeconds: 3_600 }));
  setTimeout(go.resolve, 200); // two renewals later
  await eventually('its handler is over', () => refusals.length === 3);
  assert.deepEqual(refusals, ['LeaseLost', 'LeaseLost', 'aborted']);
  assert.deepEqual(await deeds(), []);
  assert.equal(await count(`key = 'c'`), 1);
});
