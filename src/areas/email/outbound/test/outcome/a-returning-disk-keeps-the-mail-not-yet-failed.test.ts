import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../../../../kernel/sql.ts';
import { watchHolders } from '../../../tasks.ts';
import { letter, mailScene } from '../../../test/mail-scene.ts';

test('a disk that comes back while its mail is given up keeps the mail that was not given up yet', async (t) => {
  const { qd, key } = await mailScene(t, {});
  const { db } = qd.app;
  const scheduledAt = new Date(Date.now() + 20 * 3_600_000).toISOString();
  for (let n = 0; n < 5; n++) {
    const to = Array.from({ length: 50 }, (_, r) => `r${n}-${r}@far.example`);
    assert.equal((await key.post('/email/send', letter({ to, scheduledAt }))).status, 202);
  }
  await db.write(async (tx) => {
    await tx.query(sql`update email.recipient set node = 'lost' where done_at is null`);
    await tx.query(
      sql`insert into email.holder (node, seen_at, away_seconds) values ('lost', kernel.now() - interval '2 days', 2 * 86400)`,
    );
    // The directory comes back as soon as the first portion, 200 recipients, was given up.
    await tx.query(sql`
      create function email.come_back() returns trigger language plpgsql as $$
      begin update email.holder set seen_at = kernel.now(), away_seconds = 0 where node = 'lost'; return null; end $$`);
    await tx.query(sql`
      create trigger come_back after update on email.recipient for each row when (new.state = 'failed') execute function email.come_back()`);
  });
  await qd.perform(watchHolders);
  const { rows } = await db.read((tx) =>
    tx.query(sql`select state, count(*)::int as n from email.recipient group by state order by state`),
  );
  assert.deepEqual(rows, [
    { state: 'failed', n: 200 },
    { state: 'queued', n: 50 },
  ]);
});
