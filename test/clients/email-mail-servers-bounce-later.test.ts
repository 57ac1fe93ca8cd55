import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Logged, letter, untilState } from '../../src/areas/email/test/mail-scene.ts';
import { smtpSink } from '../fakes/smtp-sink.ts';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/process.ts';
import {
  type MailServer,
  startExim,
  startOpenSmtpd,
  startPostfix,
  withoutExim,
  withoutOpenSmtpd,
  withoutPostfix,
} from './email-mail-servers.ts';
import { sendingTo } from './email-support.ts';

/** A letter that is taken, and comes back afterwards to our MX door in a report as this server writes it. */
async function followReport(t: TestContext, start: (reportsTo: number) => Promise<MailServer>): Promise<Logged['events'][number]> {
  const inbound = await freePort();
  const server = await start(inbound);
  const { qd, key } = await sendingTo(t, server.port, { QUARTERDECK_SMTP_INBOUND: `127.0.0.1:${inbound}` });
  const { body } = await key.post('/email/send', letter({ to: ['late@far.example'] }));
  const { id } = body as { id: string };
  await untilState(qd, id, 'delivered', 'bounced');
  const { events } = await eventually(async () => {
    const logged = await untilState(qd, id, 'delivered', 'bounced');
    return logged.message.state === 'bounced' && logged;
  });
  assert.deepEqual(
    events.map(({ kind }) => kind),
    ['sent', 'delivered', 'bounced'],
  );
  assert.equal(events.at(-1)!.detail?.source, 'dsn');
  assert.deepEqual((await qd.owner.get('/email/messages?direction=receive')).body.messages, [], 'a report is no mail in the log');
  return events.at(-1)!;
}

test('postfix bounces later', { skip: withoutPostfix() }, async (t) => {
  const { bounceType, detail } = await followReport(t, (reportsTo) => startPostfix(t, undefined, reportsTo));
  assert.deepEqual([bounceType, detail?.class, detail?.enhanced], ['hard', 'InvalidRecipient', '5.1.1']);
});

test('exim4 bounces later', { skip: withoutExim() }, async (t) => {
  const { bounceType, detail } = await followReport(t, (reportsTo) => startExim(t, reportsTo));
  assert.deepEqual([bounceType, detail?.class], ['hard', 'InvalidRecipient']);
});

test('opensmtpd bounces later', { skip: withoutOpenSmtpd() }, async (t) => {
  // It says of a program that failed nothing but that: nobody is suppressed for it.
  const { bounceType } = await followReport(t, (reportsTo) => startOpenSmtpd(t, reportsTo));
  assert.notEqual(bounceType, 'hard');
});

/** A server further on that refuses everybody in these words. */
const refusing = async (t: TestContext, words: string) =>
  (await smtpSink(t, { at: (stage) => (stage === 'rcpt' ? words : undefined) })).port;

test('exim4 says that there is no such person', { skip: withoutExim() }, async (t) => {
  const { bounceType, detail } = await followReport(t, (reportsTo) => startExim(t, reportsTo, 'No such person at this address'));
  assert.deepEqual([bounceType, detail?.class, detail?.response], ['hard', 'InvalidRecipient', 'No such person at this address']);
});

test('opensmtpd passes on that a user is unknown', { skip: withoutOpenSmtpd() }, async (t) => {
  const lateTo = await refusing(t, '550 user unknown');
  const { bounceType, detail } = await followReport(t, (reportsTo) => startOpenSmtpd(t, reportsTo, lateTo));
  assert.deepEqual([bounceType, detail?.class], ['hard', 'InvalidRecipient']);
  assert.match(String(detail?.response), /550 user unknown$/, 'the reason, and not what stands around it');
});

test('postfix passes on a link to a block list', { skip: withoutPostfix() }, async (t) => {
  const lateTo = await refusing(t, '550 5.1.1 https://www.spamhaus.org/query/ip/192.0.2.9');
  const { bounceType, detail } = await followReport(t, (reportsTo) => startPostfix(t, undefined, reportsTo, lateTo));
  assert.deepEqual([bounceType, detail?.class], ['block', 'SpamBlock']);
});
