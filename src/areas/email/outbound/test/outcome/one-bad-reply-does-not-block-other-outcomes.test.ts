import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';

test('no reply of a mail server keeps other outcomes from being written', async (t) => {
  // Cut at a thousand, this ends in half a character, which no column holds.
  const hostile = `550 5.1.1 x${'😀'.repeat(505)}`;
  const { qd, key } = await mailScene(t, { at: (stage, line) => (stage === 'rcpt' && line.includes('<evil@') ? hostile : undefined) });
  const send = async (to: string) => ((await key.post('/email/send', letter({ to: [to] }))).body as { id: string }).id;
  const evil = await send('evil@far.example');
  const good = await send('good@far.example');
  await untilState(qd, good, 'delivered');
  const { message } = await untilState(qd, evil, 'bounced');
  assert.match(message.lastError ?? '', /550 5\.1\.1 x😀/);
});
