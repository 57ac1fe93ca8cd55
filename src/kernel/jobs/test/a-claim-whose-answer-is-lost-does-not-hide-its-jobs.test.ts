import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enqueueMany, job } from '../index.ts';
import { eventually, workbench } from './support.ts';

test('jobs claimed by a statement whose answer never arrived are run at once, not after their lease', async (t) => {
  const { app, worker, count, sql } = await workbench(t);
  const ran: string[] = [];
  const work = job('work', { lane: 'page' }, async ({ key }) => void ran.push(key));
  // The server ends the very connection that claims, after the claim has been made: committed, but never answered.
  await sql(`create table public.cut (done bool)`);
  await sql(`create function public.cut_once() returns trigger language plpgsql as $$
    begin
      if new.lease is not null and not exists (select from public.cut) then
        insert into public.cut values (true);
        perform pg_notify('cut', pg_backend_pid()::text);
      end if;
      return null;
    end $$`);
  await sql('create constraint trigger cut after update on kernel.job deferrable initially deferred for each row execute function public.cut_once()');
  await app.db.write((tx) => enqueueMany(tx, work, Array.from({ length: 5 }, (_, i) => ({ key: `${i}` }))));
  const crew = worker([work]);
  await eventually('all ran', () => ran.length >= 5);
  await eventually('nothing is left', async () => (await count()) === 0);
  assert.equal(crew.snapshot().held, 0);
});
