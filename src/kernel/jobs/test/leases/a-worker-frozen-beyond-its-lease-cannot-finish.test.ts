import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enqueue, job } from '../../index.ts';
import { workbench } from '../support.ts';

test('a worker frozen beyond its lease cannot finish what another has taken over', async (t) => {
  const { app, process, advance, count, deeds, sql } = await workbench(t);
  await sql('create table public.go (key text)');
  const wait = job('wait', {}, async () => {});
  const frozen = process('frozen');
  await frozen.said('ready');
  await app.db.write((tx) => enqueue(tx, wait, { key: 'a' }));
  await frozen.said('began a');
  frozen.kill('SIGSTOP');
  await advance(31);

  const other = process('other');
  await other.said('ready');
  await other.said('began a');
  frozen.kill('SIGCONT');
  await frozen.said('aborted a'); // its next renewal fails, while the other still runs
  await sql(`insert into public.go values ('a')`);
  assert.equal(await frozen.said('refused a'), 'refused a: LeaseLost');
  assert.equal(await frozen.said('ended wait'), 'ended wait lost');
  await other.said('finished a');
  assert.deepEqual(
    (await deeds()).filter((d) => d.what === 'finished'),
    [{ who: 'other', what: 'finished', key: 'a', attempt: 2 }],
  );
  assert.equal(await count(), 0);
});
