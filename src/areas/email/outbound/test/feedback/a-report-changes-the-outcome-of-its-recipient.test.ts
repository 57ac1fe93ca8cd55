import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { endpointAt, listening } from '../../../webhooks/test/listening.ts';
import { answer, complaint, delay, dialects, hardBounce, softBounce, vacation } from './mails.ts';
import { report, suppressions } from './reported.ts';

test('a report changes the outcome of its recipient once, and endpoints are notified', async (t) => {
  const { qd, key } = await mailScene(t);
  const endpoint = await listening(t);
  await endpointAt(qd.owner, endpoint.url, 'email.bounced', 'email.complained', 'suppression.created');
  const send = async (...to: string[]) => {
    const { id } = (await key.post('/email/send', letter({ to }))).body as { id: string };
    await untilState(qd, id, 'delivered');
    return id;
  };

  const id = await send('bob@far.example');
  // Delay notices and automatic replies change nothing.
  for (const mail of [delay(), vacation, answer, dialects['exim, late']!.mail])
    assert.equal(await report(qd, id, 'bob@far.example', mail), 'nothing');
  assert.equal((await untilState(qd, id, 'delivered')).events.length, 2);

  assert.equal(await report(qd, id, 'bob@far.example', hardBounce()), 'bounced');
  const bounced = await untilState(qd, id, 'bounced');
  assert.match(bounced.message.lastError ?? '', /no such user here/);
  const event = bounced.events.at(-1)!;
  assert.deepEqual([event.kind, event.bounceType, event.recipient], ['bounced', 'hard', 'bob@far.example']);
  assert.deepEqual([event.detail?.source, event.detail?.class, event.detail?.code], ['dsn', 'InvalidRecipient', 550]);
  assert.deepEqual(await suppressions(qd), ['bob@far.example bounce']);

  // A repeated report, or any other than a complaint, changes nothing more.
  for (const mail of [hardBounce(), softBounce(), delay()]) assert.equal(await report(qd, id, 'bob@far.example', mail), 'nothing');
  assert.equal((await untilState(qd, id, 'bounced')).events.length, 3);

  const [told, suppressed] = await endpoint.heard(2);
  assert.equal(told!.event.type, 'email.bounced');
  assert.deepEqual([told!.event.data.recipient, told!.event.data.state, told!.event.data.messageId], ['bob@far.example', 'bounced', id]);
  assert.deepEqual(told!.event.data.bounce, {
    type: 'hard',
    class: 'InvalidRecipient',
    code: 550,
    enhancedCode: '5.1.1',
    source: 'dsn',
    diagnostic: '550 5.1.1 <bob@far.example>: no such user here',
  });
  assert.equal(suppressed!.event.data.suppression.reason, 'bounce');

  // A full mailbox is not suppressed; a complaint suppresses the address for good.
  const full = await send('carol@far.example');
  assert.equal(await report(qd, full, 'carol@far.example', softBounce('carol@far.example')), 'bounced');
  assert.equal(await report(qd, full, 'carol@far.example', complaint()), 'complained');
  assert.equal(await report(qd, full, 'carol@far.example', complaint()), 'nothing');
  assert.equal(await report(qd, full, 'carol@far.example', hardBounce('carol@far.example')), 'nothing');
  const { events } = await untilState(qd, full, 'complained');
  assert.deepEqual(
    events.map(({ kind }) => kind),
    ['sent', 'delivered', 'bounced', 'complained'],
  );
  assert.deepEqual(await suppressions(qd), ['bob@far.example bounce', 'carol@far.example complaint']);
  const complained = (await endpoint.heard(5)).find(({ event: { type } }) => type === 'email.complained')!;
  assert.deepEqual(complained.event.data.complaint, {
    feedbackType: 'abuse',
    userAgent: 'Feedback/1.0',
    source: 'dns; fbl.far.example',
    counted: true,
    reporter: 'far.example',
    verifiedBy: 'dkim',
  });
});
