import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letter, mailScene, untilState } from '../mail-scene.ts';

test('what nobody takes comes back after three days, and suppresses nobody', async (t) => {
  const { qd, key } = await mailScene(t, { at: (stage) => (stage === 'rcpt' ? '452 4.2.2 mailbox full' : undefined) });
  const { body } = await key.post('/email/send', letter());
  const { id } = body as { id: string };
  await untilState(qd, id, 'deferred');
  await qd.clock.advance('71h');
  await untilState(qd, id, 'deferred');
  await qd.clock.advance('4h');
  const { message, events } = await untilState(qd, id, 'failed');
  assert.match(message.lastError ?? '', /mailbox full/);
  assert.deepEqual(
    events.map((e) => [e.kind, e.bounceType]),
    [['bounced', 'soft']],
  );
  assert.deepEqual((await qd.owner.get('/email/suppressions')).body, { suppressions: [] });
});
