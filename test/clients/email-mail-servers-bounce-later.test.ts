import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { takeReport } from '../../src/areas/email/engine/feedback/index.ts';
import { openReturnPaths } from '../../src/areas/email/engine/return-path.ts';
import { readReport } from '../../src/areas/email/rules/report/index.ts';
import { type Logged, letter, untilState } from '../../src/areas/email/test/mail-scene.ts';
import { smtpSink } from '../fakes/smtp-sink.ts';
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

/** A letter that is taken, and comes back afterwards in a report as this server writes it. */
async function followReport(t: TestContext, start: (reportsTo: number) => Promise<MailServer>): Promise<Logged['events'][number]> {
  const sink = await smtpSink(t);
  const server = await start(sink.port);
  const { qd, key } = await sendingTo(t, server.port);
  const { body } = await key.post('/email/send', letter({ to: ['late@far.example'] }));
  const { id } = body as { id: string };
  await untilState(qd, id, 'delivered');

  await sink.received(1);
  const [report] = sink.messages;
  assert.equal(report!.from, '');
  const [local] = report!.to[0]!.split('@');
  const recipientId = (await openReturnPaths(qd.app)).read(local!);
  assert.ok(recipientId, `${report!.to[0]} is a return path of ours`);
  const arrived = { org: qd.owner.orgId, messageId: id, recipientId, parsed: readReport(report!.data) };
  assert.equal(await takeReport(qd.app, arrived), 'bounced');
  assert.equal(await takeReport(qd.app, arrived), 'nothing');
  const { events } = await untilState(qd, id, 'bounced');
  assert.deepEqual(
    events.map(({ kind }) => kind),
    ['sent', 'delivered', 'bounced'],
  );
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
