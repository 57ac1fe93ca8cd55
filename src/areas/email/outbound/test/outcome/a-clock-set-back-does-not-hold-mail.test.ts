import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../../../test/harness/process.ts';
import { type Sql, sql } from '../../../../../kernel/sql.ts';
import { watchHolders } from '../../../tasks.ts';
import { letter, mailScene } from '../../../test/mail-scene.ts';

test('after the clock was set back by two days mail goes on, and what has a time of its own waits for it', async (t) => {
  let isOpen = false;
  const { qd, key } = await mailScene(t, { at: (stage) => (stage === 'rcpt' && !isOpen ? '451 4.7.1 later' : undefined) });
  const { db } = qd.app;
  const namesOf = async (which: Sql) =>
    (
      await db.read((tx) => tx.query(sql`select split_part(address, '@', 1) as name from email.recipient where ${which} order by 1`))
    ).rows.map(({ name }) => name as string);
  const send = (name: string, more = {}) => key.post('/email/send', letter({ to: [`${name}@far.example`], ...more }));
  for (const name of ['held', 'later', 'queued']) assert.equal((await send(name)).status, 202);
  const scheduledAt = new Date(Date.now() + 20 * 3_600_000).toISOString();
  assert.equal((await send('scheduled', { scheduledAt })).status, 202);
  await eventually(async () => (await namesOf(sql`state = 'deferred'`)).length === 3);
  isOpen = true;

  // The same as a clock that is set back. One had not been tried yet, and a server that is gone held another.
  await db.write(async (tx) => {
    const twoDays = sql`interval '2 days'`;
    await tx.query(sql`update email.recipient set run_at = run_at + ${twoDays} where state = 'deferred'`);
    await tx.query(
      sql`update email.recipient set state = 'queued', run_at = kernel.now() + interval '5 hours' where address like 'queued@%'`,
    );
    await tx.query(sql`
      update email.recipient set state = 'sending', lease = gen_random_uuid(), lease_until = kernel.now() + ${twoDays} where address like 'held@%'`);
  });
  await qd.perform(watchHolders);
  const delivered = () => namesOf(sql`state = 'delivered'`);
  await eventually(async () => (await delivered()).length === 2);
  assert.deepEqual(await delivered(), ['later', 'queued'], 'a living process has a full lease to renew it');
  await qd.clock.advance('61s');
  await eventually(async () => (await delivered()).length === 3);
  assert.deepEqual(await delivered(), ['held', 'later', 'queued']);
  await qd.perform(watchHolders);
  assert.deepEqual(await namesOf(sql`state = 'queued' and run_at > kernel.now() + interval '19 hours'`), ['scheduled']);
});

test('a disk that was heard of at a time which a set-back clock has not reached yet counts as away', async (t) => {
  const { qd } = await mailScene(t, {});
  const { db } = qd.app;
  await db.write((tx) => tx.query(sql`insert into email.holder (node, seen_at) values ('dead', kernel.now() + interval '2 days')`));
  const awaySeconds = async () =>
    (await db.read((tx) => tx.query(sql`select away_seconds from email.holder where node = 'dead'`))).rows[0]!['away_seconds'];
  await qd.perform(watchHolders);
  await qd.clock.advance('2m');
  await qd.perform(watchHolders);
  assert.equal(await awaySeconds(), 120);
});
