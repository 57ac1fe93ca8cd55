import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operator } from '../../../../../identity/audit.ts';
import { sql } from '../../../../../kernel/sql.ts';
import { email } from '../../../index.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { speakSmtp } from '../../../test/smtp-scene.ts';
import { untilLooked } from '../../../test/statements.ts';
import { resumeSending } from '../../engine/sending-pause.ts';
import { hardBounce } from '../feedback/mails.ts';
import { report } from '../feedback/reported.ts';

test('the automatic pause answers 451 by SMTP, keeps what waits, and all of it leaves after the resume', async (t) => {
  let isOpen = true;
  const { qd, key, sink } = await mailScene(t, { at: (stage) => (stage === 'rcpt' && !isOpen ? '451 later' : undefined) });
  const gone = (await key.post('/email/send', letter({ to: ['gone@far.example'] }))).body.id;
  await untilState(qd, gone, 'delivered');
  isOpen = false;
  const waiting = (await key.post('/email/send', letter({ to: ['waits@far.example'] }))).body.id;
  await untilState(qd, waiting, 'deferred');

  // As if 200 had been sent to before, and 19 of them had bounced.
  await qd.app.db.write((tx) => tx.query(sql`update email.sending_hour set recipients = 200, hard = 19 where org_id = ${qd.owner.orgId}`));
  await report(qd, gone, 'gone@far.example', hardBounce('gone@far.example'));
  assert.equal((await qd.owner.get('/email/settings')).body.paused, true);

  const speaker = await speakSmtp(t, qd.own(email).smtp.ports[0]!);
  const mail = 'From: ada@example.com\r\nTo: bob@far.example\r\nSubject: By SMTP\r\n\r\nHello.\r\n';
  await speaker.beginMessage(key.secret);
  assert.match(await speaker.say(`${mail}.`), /^451 4\.7\.1 .*sending is paused: 20 of 20\d recipients bounced hard/);
  isOpen = true;
  const before = sink.messages.length;
  await qd.clock.advance('1h');
  await untilLooked(t, qd);
  await untilState(qd, waiting, 'deferred');
  assert.equal(sink.messages.length, before, 'nothing leaves while it is paused');

  await qd.app.db.write((tx) => resumeSending(tx, operator(qd.owner.orgId)));
  await untilState(qd, waiting, 'delivered');
  for (const line of ['MAIL FROM:<ada@example.com>', 'RCPT TO:<bob@far.example>', 'DATA']) await speaker.say(line);
  const taken = await speaker.say(`${mail}.`);
  assert.match(taken, /^250 /, 'what the client kept is taken now');
  await untilState(qd, /msg_\w+/.exec(taken)![0], 'delivered');
});
