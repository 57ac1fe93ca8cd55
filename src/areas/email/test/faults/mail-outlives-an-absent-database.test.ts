import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { takeDatabase } from '../../../oncall/test/support.ts';
import { letter, mailScene, untilState } from '../mail-scene.ts';
import { speakSmtp } from '../smtp-scene.ts';
import { ownSmtpPort } from '../submit-by-smtp.ts';

test('while the database is away mail is refused for a while, and what was heard meanwhile is settled later', async (t) => {
  const smtp = await ownSmtpPort();
  let take = () => {};
  const mayTake = new Promise<void>((resolve) => {
    take = resolve;
  });
  const { qd, sink, key } = await mailScene(t, {}, { env: smtp.env });
  sink.holdAnswers(mayTake);
  const { body } = await key.post('/email/send', letter());
  await eventually(async () => sink.count === 1); // taken, and not yet said so

  const { beginMessage, say } = await speakSmtp(t, smtp.port);
  assert.match(await beginMessage(key.secret, ['smtp@far.example']), /^354/);
  const giveBack = await takeDatabase(qd);
  take();
  assert.match(await say('From: ada@example.com\r\nSubject: x\r\n\r\nx\r\n.'), /^451 4\.3\.0 we cannot take mail at this moment/);
  const refused = await key.post('/email/send', letter({ to: ['refused@far.example'] }), { 'idempotency-key': 'away' });
  assert.deepEqual([refused.status, refused.body.error], [502, 'the backend is unreachable; try again in a moment']);

  await giveBack();
  const { events } = await untilState(qd, body.id, 'delivered');
  assert.deepEqual(events.map(({ kind }) => kind).sort(), ['delivered', 'sent']);
  const again = await eventually(async () => {
    const answer = await key.post('/email/send', letter({ to: ['again@far.example'] }), { 'idempotency-key': 'away' });
    return answer.status === 202 ? answer : undefined;
  });
  await untilState(qd, again.body.id, 'delivered');
  assert.deepEqual(
    sink.messages.flatMap(({ to }) => to),
    ['bob@far.example', 'again@far.example'],
    'each once, and nothing that was refused',
  );
});
