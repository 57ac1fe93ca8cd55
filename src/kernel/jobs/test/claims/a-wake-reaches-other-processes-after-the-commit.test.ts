import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { channelNamed, wake } from '../../index.ts';
import { eventually, makeApp, workbench } from '../support.ts';

test('a wake reaches every process once its transaction has committed, many of them as few', async (t) => {
  const { app, connection, defer } = await workbench(t);
  const other = await makeApp(connection);
  defer(other.close);
  await eventually('both hear', () => app.listener.hearing && other.app.listener.hearing);
  let here = 0;
  let there = 0;
  app.waker.subscribe('something', () => here++);
  other.app.waker.subscribe('something', () => there++);

  await assert.rejects(
    app.db.write(async (tx) => {
      wake(tx, channelNamed('something'));
      throw new Error('not committed');
    }),
  );
  const hold = Promise.withResolvers<void>();
  const open = app.db.write(async (tx) => {
    wake(tx, channelNamed('something'));
    wake(tx, channelNamed('something'));
    await hold.promise;
  });
  await sleep(100);
  assert.deepEqual([here, there], [0, 0], 'an uncommitted job wakes no worker');
  hold.resolve();
  await open;
  assert.equal(here, 1, 'here at once');
  await eventually('there soon', () => there === 1, 1_000);

  for (let i = 0; i < 300; i++) await app.db.write(async (tx) => wake(tx, channelNamed('something')));
  assert.equal(here, 301);
  await eventually('there too', () => there > 1, 1_000);
  await sleep(50);
  assert.ok(there < 200, `300 commits were told in ${there} notifications`);
});
