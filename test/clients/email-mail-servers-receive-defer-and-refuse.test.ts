import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Logged, letter, untilState } from '../../src/areas/email/test/mail-scene.ts';
import {
  type MailServer,
  startExim,
  startOpenSmtpd,
  startPostfix,
  withoutExim,
  withoutOpenSmtpd,
  withoutPostfix,
} from './email-mail-servers.ts';
import { mailIn, sendingTo } from './email-support.ts';

/** One letter to somebody who is there, somebody who is not, and somebody who is told to wait. */
async function followFates(t: TestContext, server: MailServer, refusal: { code: number; text: RegExp }): Promise<Logged['events'][number]> {
  const { qd, key } = await sendingTo(t, server.port);
  const to = ['good', 'gone', 'grey'].map((who) => `${who}@far.example`);
  const { status, body } = await key.post('/email/send', letter({ to }));
  assert.equal(status, 202);
  const { id } = body as { id: string };

  await mailIn(server.mail, 1);
  const waiting = await untilState(qd, id, 'deferred');
  assert.match(waiting.message.lastError ?? '', /greylisted|gone@far\.example|nrouteable/);

  await server.welcome();
  await qd.clock.advance('10m');
  const { events } = await untilState(qd, id, 'bounced');
  const last = new Map(events.filter((e) => e.recipient).map((e) => [e.recipient, e]));
  const fate = (who: string) => [last.get(`${who}@far.example`)?.kind, last.get(`${who}@far.example`)?.bounceType];
  assert.deepEqual(fate('good'), ['delivered', undefined]);
  assert.deepEqual(fate('grey'), ['delivered', undefined]);
  assert.deepEqual(fate('gone'), ['bounced', 'hard']);
  const refused = last.get('gone@far.example')!.detail!;
  assert.equal(refused.code, refusal.code);
  assert.match(String(refused.response), refusal.text);

  // Once each, and whoever is not there is not tried again.
  const mail = await mailIn(server.mail, 2);
  assert.equal(mail.length, 2);
  for (const each of mail) assert.match(each, /^Subject: Hello$/m);
  const again = await key.post('/email/send', letter({ to: ['gone@far.example'] }));
  await untilState(qd, (again.body as { id: string }).id, 'suppressed');
  return last.get('good@far.example')!;
}

const usedTls = /^TLSv1\.[23] /;

test('postfix receives, defers and refuses', { skip: withoutPostfix() }, async (t) => {
  const delivered = await followFates(t, await startPostfix(t), { code: 550, text: /User unknown in virtual mailbox table/ });
  assert.match(String(delivered.detail?.tls), usedTls);
});

test('exim4 receives, defers and refuses', { skip: withoutExim() }, async (t) => {
  const delivered = await followFates(t, await startExim(t), { code: 550, text: /Unrouteable address/ });
  assert.match(String(delivered.detail?.tls), usedTls);
});

test('opensmtpd receives, defers and refuses: its 524 5.2.4 is of a recipient that is not there', {
  skip: withoutOpenSmtpd(),
}, async (t) => {
  // It offers STARTTLS, and Debian's 6.8 then fails every handshake (it does not get on with OpenSSL 3): mail goes in the clear.
  await followFates(t, await startOpenSmtpd(t), { code: 524, text: /Mailing list expansion problem/ });
});
