import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import nodemailer from 'nodemailer';
import PostalMime from 'postal-mime';
import { Resend } from 'resend';
import { mailScene, untilState } from '../../src/areas/email/test/mail-scene.ts';
import { freePort } from '../harness/free-port.ts';
import { lacking, openFolder, run, said } from './email-support.ts';

const withoutSwaks = lacking('swaks') || (/TLS supported/.test(said('swaks', '--support')) ? false : 'swaks lacks Net::SSLeay for TLS');

test('programs hand in mail that arrives and is in the log', async (t) => {
  const [submission, smtps] = [await freePort(), await freePort()];
  const { qd, sink, key } = await mailScene(
    t,
    {},
    { env: { QUARTERDECK_SMTP_SUBMISSION: `127.0.0.1:${submission}`, QUARTERDECK_SMTPS: `127.0.0.1:${smtps}` } },
  );
  const folder = await openFolder(t);
  let arrived = 0;
  /** The mail as the other side has it, read by a parser that is not ours, once the log says that it was delivered. */
  const received = async (subject: string, door = 'smtp') => {
    const message = (await sink.received(++arrived)).at(-1)!;
    const { body } = await qd.owner.get('/email/messages');
    const [latest] = (body as { messages: { id: string }[] }).messages;
    const logged = (await untilState(qd, latest!.id, 'delivered')).message;
    assert.equal(logged.subject, subject);
    assert.equal(logged.door, door);
    const mail = await PostalMime.parse(message.data);
    assert.equal(mail.subject, subject);
    return mail;
  };

  const swaks = (...more: string[]) =>
    run('swaks', [
      ...['--server', '127.0.0.1', '--from', 'ada@example.com', '--to', 'bob@far.example'],
      ...['--auth-user', key.keyId, '--auth-password', key.secret, ...more],
    ]);

  await t.test('swaks with STARTTLS', { skip: withoutSwaks }, async () => {
    const { stdout } = await swaks(
      '--port',
      String(submission),
      '--tls',
      '--header',
      'Subject: by STARTTLS',
      '--body',
      'one\n.two\n..three',
    );
    assert.match(stdout, /=== TLS started with cipher TLSv1\.[23]/);
    assert.match(stdout, /<~ {2}250 2\.0\.0 Ok: queued as msg_/);
    const mail = await received('by STARTTLS');
    assert.equal(mail.text?.trimEnd(), 'one\n.two\n..three');
  });

  await t.test('swaks with TLS from the first byte, and an attachment', { skip: withoutSwaks }, async () => {
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7) % 256));
    const file = join(folder, 'figures.bin');
    await writeFile(file, bytes);
    await swaks(
      ...['--port', String(smtps), '--tlsc', '--header', 'Subject: with a file'],
      ...['--attach-type', 'application/octet-stream', '--attach-name', 'figures.bin', '--attach', `@${file}`],
    );
    const [attachment] = (await received('with a file')).attachments;
    assert.equal(attachment?.filename, 'figures.bin');
    assert.ok(Buffer.from(attachment!.content as ArrayBuffer).equals(bytes), 'byte by byte');
  });

  await t.test('swaks with a wrong secret is told so, and nothing is taken', { skip: withoutSwaks }, async () => {
    const wrong = swaks('--port', String(submission), '--tls', '--auth-password', 'wrong');
    await assert.rejects(wrong, ({ code, stdout }) => code === 28 && /535 5\.7\.8/.test(stdout));
  });

  await t.test('swaks hears why a foreign sender is refused', { skip: withoutSwaks }, async () => {
    const foreign = swaks('--port', String(submission), '--tls', '--from', 'eve@elsewhere.example');
    await assert.rejects(foreign, ({ stdout }) => /^<~\* 550 5\.7\.1 .*elsewhere\.example/m.test(stdout));
  });

  for (const [name, port, tls] of [
    ['STARTTLS', submission, 'on'],
    ['TLS from the first byte', smtps, 'off'],
  ] as const) {
    await t.test(`msmtp with ${name}`, { skip: lacking('msmtp') }, async () => {
      const settings = join(folder, 'msmtprc');
      const login = `auth plain\nuser ${key.keyId}\npassword ${key.secret}`;
      await writeFile(
        settings,
        `account default\nhost 127.0.0.1\nport ${port}\n${login}\nfrom ada@example.com\ntls on\ntls_starttls ${tls}\ntls_certcheck off\n`,
      );
      await chmod(settings, 0o600);
      const sent = run('msmtp', ['-C', settings, '-t']);
      sent.child.stdin!.end(`From: ada@example.com\nTo: Bob <bob@far.example>\nSubject: from msmtp\n\nby ${name}\n`);
      await sent;
      assert.equal((await received('from msmtp')).text?.trimEnd(), `by ${name}`);
    });
  }

  await t.test('nodemailer', async () => {
    const auth = { user: key.keyId, pass: key.secret };
    const transport = nodemailer.createTransport({
      host: '127.0.0.1',
      port: smtps,
      secure: true,
      tls: { rejectUnauthorized: false },
      auth,
    });
    t.after(() => transport.close());
    const attachments = [{ filename: 'größe.txt', content: 'Größe: 7' }];
    await transport.sendMail({ from: 'Ada <ada@example.com>', to: 'bob@far.example', subject: 'Grüße', html: '<p>hi</p>', attachments });
    const mail = await received('Grüße');
    assert.equal(mail.html?.trimEnd(), '<p>hi</p>');
    assert.equal(mail.attachments[0]?.filename, 'größe.txt');
  });

  await t.test('the SDK of Resend', async () => {
    const resend = new Resend(key.secret, { baseUrl: `${qd.url}/resend` });
    const mail = { from: 'Ada <ada@example.com>', to: 'bob@far.example', subject: 'by Resend', html: '<b>hi</b>' };
    const { data, error } = await resend.emails.send({ ...mail, attachments: [{ filename: 'a.txt', content: Buffer.from('hello') }] });
    assert.equal(error, null);
    const arrivedMail = await received('by Resend', 'http');
    assert.equal(arrivedMail.html?.trimEnd(), '<b>hi</b>');
    assert.equal(Buffer.from(arrivedMail.attachments[0]!.content as ArrayBuffer).toString(), 'hello');
    assert.equal((await resend.emails.get(data!.id)).data?.last_event, 'delivered');
  });
});
