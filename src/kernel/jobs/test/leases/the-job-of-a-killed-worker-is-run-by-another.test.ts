import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { enqueue, job } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('the job of a worker killed with -9 is run by another once the lease has lapsed, not before', async (t) => {
  const { app, process, advance, count, deeds, sql } = await workbench(t);
  await sql('create table public.go (key text)');
  const wait = job('wait', {}, async () => {});
  const first = process('first');
  await first.said('ready');
  await app.db.write((tx) => enqueue(tx, wait, { key: 'a' }));
  await first.said('began a');

  const second = process('second');
  await second.said('ready');
  for (let times = 0; times < 2; times++) {
    await advance(25);
    await eventually(
      'the renewals keep pace with the clock',
      async () => (await count(`lease_until > kernel.now() + interval '20 seconds'`)) === 1,
    );
    await sleep(100);
  }
  assert.equal((await deeds()).length, 1, 'a lease that is renewed does not lapse');

  first.kill('SIGKILL');
  await first.gone;
  await advance(25);
  await sleep(300);
  assert.equal((await deeds()).length, 1, 'the lease of the dead is respected too');
  await advance(10);
  await second.said('began a');
  await sql(`insert into public.go values ('a')`);
  await second.said('finished a');
  assert.deepEqual(await deeds(), [
    { who: 'first', what: 'began', key: 'a', attempt: 1 },
    { who: 'second', what: 'began', key: 'a', attempt: 2 },
    { who: 'second', what: 'finished', key: 'a', attempt: 2 },
  ]);
  await eventually('nothing is left', async () => (await count()) === 0);
});
