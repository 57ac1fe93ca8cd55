import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';

test('each recipient has its own outcome', async (t) => {
  const replies: Record<string, string> = {
    gone: '550 5.1.1 no such user',
    spam: '554 5.7.1 message refused by policy',
    grey: '451 4.7.1 greylisted, try again later',
  };
  let isGrey = true;
  const { qd, key, sink } = await mailScene(t, {
    at: (stage, line) => {
      const who = /<(\w+)@/.exec(line)?.[1]?.toLowerCase() ?? '';
      return stage === 'rcpt' && (who !== 'grey' || isGrey) ? replies[who] : undefined;
    },
  });
  const { body } = await key.post('/email/send', letter({ to: ['good', 'gone', 'spam', 'grey'].map((who) => `${who}@far.example`) }));
  const { id } = body as { id: string };

  // While one of them waits, the message does, and says what stands in the way.
  const waiting = await untilState(qd, id, 'deferred');
  assert.match(waiting.message.lastError ?? '', /greylisted|no such user|policy/);
  await sink.received(1);

  // Only what is about the recipient suppresses.
  const listed = async () =>
    ((await qd.owner.get('/email/suppressions')).body as { suppressions: { id: string; address: string; reason: string }[] }).suppressions;
  for (let tries = 0; (await listed()).length === 0 && tries < 200; tries++) await new Promise((next) => setTimeout(next, 25));
  assert.deepEqual(
    (await listed()).map(({ address, reason }) => [address, reason]),
    [['gone@far.example', 'bounce']],
  );

  // Each has its state, and each attempt that was put off the words of the other server.
  const { recipients } = (await qd.owner.get(`/email/messages/${id}`)).body as typeof waiting;
  assert.deepEqual(
    recipients.map(({ address, state, deferrals, nextAttemptAt }) => [address, state, deferrals, nextAttemptAt !== undefined]),
    [
      ['good@far.example', 'delivered', 0, false],
      ['gone@far.example', 'bounced', 0, false],
      ['spam@far.example', 'bounced', 0, false],
      ['grey@far.example', 'deferred', 1, true],
    ],
  );
  assert.match(recipients[1]!.lastError!, /^mx\.far\.example: 550 5\.1\.1 no such user/);
  assert.match(recipients[3]!.lastError!, /greylisted/);

  isGrey = false;
  await qd.clock.advance('5m');
  const { events, deferrals } = await untilState(qd, id, 'bounced');
  const fates = new Map(events.filter((e) => e.recipient).map((e) => [e.recipient, `${e.kind} ${e.bounceType ?? ''}`.trim()]));
  assert.deepEqual(Object.fromEntries(fates), {
    'good@far.example': 'delivered',
    'gone@far.example': 'bounced hard',
    'spam@far.example': 'bounced block',
    'grey@far.example': 'delivered',
  });

  const isGreys = (e: { recipient?: string }) => e.recipient === 'grey@far.example';
  const grey = [...deferrals.filter(isGreys), ...events.filter(isGreys)];
  assert.deepEqual(
    grey.map(({ detail }) => [detail!['attempt'], detail!['mx']]),
    [
      [1, 'mx.far.example'],
      [2, 'mx.far.example'],
    ],
  );
  assert.match(String(grey[0]!.detail!['response']), /451 4\.7\.1 greylisted, try again later/);

  // Suppressed: not tried again, and the log says so; once removed, delivered again, until it bounces once more.
  const again = async () => ((await key.post('/email/send', letter({ to: ['Gone@far.example'] }))).body as { id: string }).id;
  assert.equal((await untilState(qd, await again(), 'suppressed')).message.state, 'suppressed');
  const [entry] = await listed();
  assert.equal((await qd.owner.delete(`/email/suppressions/${entry!.id}`)).status, 204);
  await untilState(qd, await again(), 'bounced');
  assert.equal((await listed()).length, 1);
});
