import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { fakeSmtp } from '../../../test/fakes/smtp.ts';
import { quarterdeck } from '../../../test/harness/index.ts';
import { eventually } from '../../../test/harness/process.ts';
import type { RetryAdvice } from '../errors.ts';
import { enqueue, jobAdmin } from '../jobs/index.ts';
import { type Message, NotDelivered, relayMail } from '../mail.ts';
import { sendMail } from '../send-mail.ts';
import { sql } from '../sql.ts';

const message: Message = { org: 'org_1', to: 'ada@example.com', subject: 'Grüße', text: 'Hello.\n.\nBye.', id: 'page 7/α' };
const from = 'quarterdeck@cloud.example';

const notDelivered = (sentence: RegExp, lasting: RetryAdvice) => (error: unknown) => {
  assert.ok(error instanceof NotDelivered, String(error));
  assert.match(error.message, sentence);
  assert.equal(error.retryAdvice, lasting, error.message);
  return true;
};

test('a message that the relay takes arrives whole, under one Message-ID however often it is sent', async (t) => {
  const smtp = await fakeSmtp(t);
  const mail = relayMail({ relay: smtp.url.replace('//', '//relay:s3cret@'), from });
  assert.match((await mail.deliver({ ...message, headers: { 'X-Why': 'test' } })).response, /queued as 1/);
  await mail.deliver(message);

  const [first, second] = smtp.received;
  assert.equal(first!.from, from);
  assert.deepEqual(first!.to, ['ada@example.com']);
  assert.equal(first!.credentials, 'relay:s3cret');
  assert.match(first!.data, /^Subject: =\?UTF-8\?/im);
  assert.match(first!.data, /^X-Why: test\r$/im);
  assert.match(first!.data, /\r\n\r\nHello\.\r\n\.\r\nBye\./);
  const idOf = (data: string) => /^Message-ID: (.*)\r$/im.exec(data)?.[1];
  assert.equal(idOf(first!.data), '<page.7..@cloud.example>');
  assert.equal(idOf(second!.data), idOf(first!.data));
});

test('a message that does not leave says why, and whether trying again can help', async (t) => {
  const smtp = await fakeSmtp(t);
  const mail = relayMail({ relay: smtp.url, from, greetingTimeoutMs: 200 });

  smtp.behave({ RCPT: '550 5.1.1 no such user' });
  await assert.rejects(
    mail.deliver(message),
    notDelivered(/did not take the message for ada@example\.com: 550 5\.1\.1 no such user/, 'for good'),
  );
  smtp.behave({ END: '554 5.7.1 looks like spam' });
  await assert.rejects(mail.deliver(message), notDelivered(/554 5\.7\.1 looks like spam/, 'until mended'));
  // About our relay or a full mailbox, not about the recipient: the message is retried.
  for (const refusal of ['554 5.7.1 relaying denied', '552 5.2.2 mailbox full', '550 5.4.4 no route']) {
    smtp.behave({ RCPT: refusal });
    await assert.rejects(mail.deliver(message), notDelivered(new RegExp(refusal), 'until mended'));
  }
  smtp.behave({ RCPT: '550 no such user' });
  await assert.rejects(mail.deliver(message), notDelivered(/550 no such user/, 'for good'));
  smtp.behave({ RCPT: '451 4.7.1 come back later' });
  await assert.rejects(mail.deliver(message), notDelivered(/451 4\.7\.1 come back later/, 'for now'));
  smtp.behave('drop');
  await assert.rejects(mail.deliver(message), notDelivered(/did not take the message.*; check QUARTERDECK_SMTP_RELAY/, 'for now'));
  smtp.behave('silent');
  await assert.rejects(mail.deliver(message), notDelivered(/ETIMEDOUT; check QUARTERDECK_SMTP_RELAY/, 'for now'));
  // A wrong password of ours is not the message's fault.
  smtp.behave({ AUTH: '535 5.7.8 wrong password' });
  const locked = relayMail({ relay: smtp.url.replace('//', '//relay:wrong@'), from, greetingTimeoutMs: 200 });
  await assert.rejects(locked.deliver(message), notDelivered(/535 5\.7\.8 wrong password/, 'for now'));

  const gone = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => gone.once('listening', resolve));
  const { port } = gone.address() as { port: number };
  gone.close();
  const unreachable = relayMail({ relay: `smtp://127.0.0.1:${port}`, from, greetingTimeoutMs: 200 });
  await assert.rejects(unreachable.deliver(message), notDelivered(/did not take the message.*check QUARTERDECK_SMTP_RELAY/, 'for now'));
  await assert.rejects(
    relayMail({ relay: '', from }).deliver(message),
    notDelivered(/no mail leaves this server: set QUARTERDECK_SMTP_RELAY/, 'until mended'),
  );
  assert.deepEqual(smtp.received, []);
});

test('as a job: sent when it can be, tried again when that may help, dead at once and visible when it cannot', async (t) => {
  const smtp = await fakeSmtp(t);
  const { app, clock, owner } = await quarterdeck(t, { env: { QUARTERDECK_SMTP_RELAY: smtp.url, QUARTERDECK_MAIL_FROM: from } });
  const { id: _, ...payload } = message;
  const send = (key: string) => app.db.write((tx) => enqueue(tx, sendMail, { key, payload, org: owner.orgId }));

  smtp.behave({ RCPT: '451 4.3.2 not now' });
  await send('later');
  const told = sql`select run_at > kernel.now() as waits from kernel.job where key = 'later' and attempts = 1 and lease is null and last_error like '%not now%'`;
  const tried = await eventually(() => app.db.read(async (tx) => (await tx.query(told)).rows[0]));
  assert.deepEqual(tried, { waits: true });
  smtp.behave('accept');
  await clock.advance('10s');
  await eventually(async () => smtp.received.length === 1);

  smtp.behave({ RCPT: '550 5.1.1 no such user' });
  await send('never');
  const [dead] = await eventually(() =>
    app.db.read(async (tx) => {
      const found = await jobAdmin.deadJobs(tx);
      return found.length > 0 && found;
    }),
  );
  assert.equal(dead!.key, 'never');
  assert.equal(dead!.attempts, 1);
  assert.match(dead!.last_error!, /550 5\.1\.1 no such user/);

  // What is given up can be taken up again.
  smtp.behave('accept');
  await app.db.write((tx) => jobAdmin.retryDead(tx, dead!.id));
  await eventually(async () => smtp.received.length === 2);
});
