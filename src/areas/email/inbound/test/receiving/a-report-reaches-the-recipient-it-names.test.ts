import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { speakSmtp } from '../../../test/smtp-scene.ts';
import { deliver, deliverTo, mxPort } from './mx-scene.ts';

const report = (recipient: string) =>
  [
    'From: MAILER-DAEMON@mx.far.example',
    'Subject: Undelivered Mail Returned to Sender',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'It could not be delivered.',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.far.example',
    '',
    `Final-Recipient: rfc822; ${recipient}`,
    'Action: failed',
    'Status: 5.1.1',
    'Diagnostic-Code: smtp; 550 5.1.1 User unknown',
    '',
    '--b--',
    '',
  ].join('\r\n');

test('a report at a return path ends in the state of its recipient, and is no mail in the log', async (t) => {
  const { qd, sink, key } = await mailScene(t);
  const port = mxPort(qd);
  const { body } = await key.post('/email/send', letter());
  await untilState(qd, body.id, 'delivered');
  const returnPath = sink.messages[0]!.from;
  assert.match(returnPath, /^b\+[0-9a-z]+\.[0-9a-z]{8}\.[0-9a-f]{20}@bounce\.example\.com$/);

  const forged = returnPath.replace(/\.[0-9a-f]{4}/, '.0000');
  assert.match(await deliverTo(t, port, { from: '', to: [forged], message: report('bob@far.example') }), /^550 5\.7\.1|^550 5\.1\.1/);
  const elsewhere = returnPath.replace('example.com', 'far.example');
  assert.match(await deliverTo(t, port, { from: '', to: [elsewhere] }), /^550 5\.1\.1/, 'another domain has no such recipient');

  const speaker = await speakSmtp(t, port);
  await speaker.say('EHLO mx.far.example');
  await speaker.say('MAIL FROM:<>');
  assert.match(await speaker.say(`RCPT TO:<${returnPath}>`), /^250 /);
  assert.match(await speaker.say(`RCPT TO:<x${returnPath}>`), /^550 /);
  await speaker.say('RSET');
  const large = `${report('bob@far.example')}${'x'.repeat(998).concat('\r\n').repeat(1_100)}`;
  assert.match(
    await deliver(speaker, { from: '', to: [returnPath], message: large }),
    /^552 5\.3\.4 the message is larger than 1048576 bytes/,
  );
  assert.match(await deliver(speaker, { from: '', to: [returnPath], message: report('bob@far.example') }), /^250 /);
  const { message, events } = await untilState(qd, body.id, 'bounced');
  assert.match(message.lastError!, /User unknown/);
  assert.deepEqual(events.map(({ kind }) => kind).sort(), ['bounced', 'delivered', 'sent']);
  assert.deepEqual((await qd.owner.get('/email/messages?direction=receive')).body.messages, []);

  assert.match(await deliver(speaker, { from: '', to: [returnPath], message: report('bob@far.example') }), /^250 /);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal((await untilState(qd, body.id, 'bounced')).events.length, 3, 'the same once more changes nothing');
});
