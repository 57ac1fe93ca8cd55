import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { operator } from '../../../../../identity/audit.ts';
import { NotDelivered } from '../../../../../kernel/mail.ts';
import { posture } from '../../../index.ts';
import { type LoggedMessage, mailScene } from '../../../test/mail-scene.ts';

test('the product’s own mail is sent directly once its sender’s domain is verified', async (t) => {
  // The sender's domain is checked every five seconds.
  const { setInterval } = globalThis;
  t.mock.method(globalThis, 'setInterval', (act: () => void, ms: number, ...rest: []) => setInterval(act, ms === 5_000 ? 50 : ms, ...rest));
  const { qd, sink } = await mailScene(
    t,
    {
      at: (stage, line) =>
        stage === 'rcpt' && line.includes('gone@')
          ? '550 5.1.1 no such user'
          : stage === 'rcpt' && line.includes('later@')
            ? '451 4.7.1 later'
            : stage === 'rcpt' && line.includes('full@')
              ? '552 5.2.2 mailbox full'
              : undefined,
    },
    { env: { QUARTERDECK_MAIL_FROM: 'Quarterdeck <pages@example.com>' } },
  );
  // The sender's domain was verified a moment ago.
  for (let tries = 0; !qd.app.mail.leaves() && tries < 200; tries++) await sleep(50);
  assert.equal(qd.app.mail.leaves(), true);

  // A tenant's pause or suppression does not stop a page.
  await qd.app.db.write((tx) => posture.pauseSending(tx, operator(qd.owner.orgId), 'a test'));
  await qd.owner.post('/email/suppressions', { address: 'oncall@far.example' });
  const page = (id: string, to: string) =>
    qd.app.mail.deliver({ org: qd.owner.orgId, id, to, subject: 'checkout is down', text: 'https://x/ack?token=secret' });
  const { response } = await page('page-1', 'oncall@far.example');
  assert.match(response, /^250/);
  const [taken] = await sink.received(1);
  assert.match(taken!.data.toString(), /DKIM-Signature: [\s\S]*Message-ID: <page-1@example\.com>/i);
  assert.match(taken!.from, /@bounce\.example\.com$/);

  // The caller gets the refusal, and whether another attempt may help.
  await assert.rejects(
    page('page-2', 'gone@far.example'),
    (error) => error instanceof NotDelivered && error.retryAdvice === 'for good' && /no such user/.test(error.message),
  );
  const failed = (error: unknown) => error instanceof NotDelivered && error.retryAdvice === 'for now' && /later/.test(error.message);
  await assert.rejects(page('page-3', 'later@far.example'), failed);
  await assert.rejects(page('page-3', 'later@far.example'), failed);

  // A full mailbox is emptied some day.
  await assert.rejects(page('page-4', 'full@far.example'), (error) => error instanceof NotDelivered && error.retryAdvice !== 'for good');

  // Each mail appears once in its organization's log, without content, and counts in no quota.
  const { messages } = (await qd.owner.get('/email/messages')).body as {
    messages: (LoggedMessage & { id: string; door: string; to: string[] })[];
  };
  assert.deepEqual(messages.map((m) => [m.to[0], m.door, m.state]).sort(), [
    ['full@far.example', 'relay', 'deferred'],
    ['gone@far.example', 'relay', 'bounced'],
    ['later@far.example', 'relay', 'deferred'],
    ['oncall@far.example', 'relay', 'delivered'],
  ]);
  for (const { id } of messages) assert.equal((await qd.owner.get(`/email/messages/${id}/content`)).status, 404);
  const { acceptedToday } = (await qd.owner.get('/email/settings')).body as { acceptedToday: number };
  assert.equal(acceptedToday, 0);
  const { suppressions } = (await qd.owner.get('/email/suppressions')).body as { suppressions: { address: string }[] };
  assert.deepEqual(
    suppressions.map((s) => s.address),
    ['oncall@far.example'],
  );
  const other = await qd.organization('bravo');
  assert.deepEqual((await other.get('/email/messages')).body, { messages: [] });
});
