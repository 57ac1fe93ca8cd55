import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../../../test/harness/process.ts';
import { sql } from '../../../../../kernel/sql.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';

test('mail that no server accepts fails after three days, and suppresses no recipient', async (t) => {
  const { qd, key } = await mailScene(t, { at: (stage) => (stage === 'rcpt' ? '452 4.2.2 mailbox full' : undefined) });
  const { body } = await key.post('/email/send', letter());
  const { id } = body as { id: string };
  await untilState(qd, id, 'deferred');
  // Attempt by attempt: a jump of the clock would look like a server that was down.
  const next = async () =>
    (
      await qd.app.db.read((tx) =>
        tx.query(sql`select state, attempts, ceil(extract(epoch from run_at - kernel.now()))::int + 1 as seconds from email.recipient`),
      )
    ).rows[0] as { state: string; attempts: number; seconds: number };
  let seconds = 0;
  for (let now = await next(); now.state !== 'failed'; now = await next()) {
    await qd.clock.advance(`${now.seconds}s`);
    seconds += now.seconds;
    await eventually(async () => (await next()).attempts > now.attempts);
    await eventually(async () => (await next()).state !== 'sending');
  }
  assert.ok(seconds >= 72 * 3_600 && seconds < 77 * 3_600, `${seconds / 3_600} hours`);
  const { message, events, deferrals } = await untilState(qd, id, 'failed');
  assert.match(message.lastError ?? '', /mailbox full/);
  assert.deepEqual(
    events.map((e) => [e.kind, e.bounceType]),
    [['bounced', 'soft']],
  );
  assert.ok(deferrals.length > 15, `${deferrals.length} deferrals`);
  assert.deepEqual((await qd.owner.get('/email/suppressions')).body, { suppressions: [] });
});
