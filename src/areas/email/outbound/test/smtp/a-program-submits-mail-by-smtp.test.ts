import assert from 'node:assert/strict';
import { test } from 'node:test';
import nodemailer from 'nodemailer';
import { smtpDoor } from '../../../test/smtp-scene.ts';

test('a program submits mail by SMTP', async (t) => {
  const { keys, stored, port, securePort } = await smtpDoor(t);
  const { secret, keyId, id } = keys.mint();
  const transport = (options: object) => {
    const made = nodemailer.createTransport({ host: '127.0.0.1', tls: { rejectUnauthorized: false }, ...options } as never);
    t.after(() => made.close());
    return made;
  };
  const mail = {
    from: 'Ada <ada@example.com>',
    to: 'bob@far.example, "C, Carl" <carl@far.example>',
    cc: 'dora@far.example',
    subject: 'Grüße',
    text: 'hi',
  };

  await t.test('with STARTTLS: every header is in the log, and Bcc in the envelope alone', async () => {
    const { response } = await transport({ port, requireTLS: true, auth: { user: keyId, pass: secret } }).sendMail({
      ...mail,
      bcc: 'eve@far.example',
    });
    assert.match(response, /^250 2\.0\.0 Ok: queued as msg_/);
    const [first] = stored.splice(0);
    assert.equal(first!.door, 'smtp');
    assert.equal(first!.sendKeyId, id);
    assert.equal(first!.domainId, 'dom_1');
    assert.equal(first!.sender, 'Ada <ada@example.com>');
    assert.deepEqual(first!.recipients, ['bob@far.example', '"C, Carl" <carl@far.example>']);
    assert.deepEqual(first!.copies, ['dora@far.example']);
    assert.equal(first!.subject, 'Grüße');
    assert.deepEqual(first!.envelope, ['bob@far.example', 'carl@far.example', 'dora@far.example', 'eve@far.example']);
    assert.ok(first!.bytes.includes(`Message-ID: ${first!.messageId}`));
    assert.ok(!first!.bytes.includes('eve@'));
  });

  await t.test('with TLS from the first byte, and `apikey` as the user name', async () => {
    await transport({ port: securePort, secure: true, auth: { user: 'apikey', pass: secret } }).sendMail(mail);
    assert.equal(stored.splice(0).length, 1);
  });

  await t.test('with the secret as the user name, by AUTH LOGIN, in the clear on this machine', async () => {
    await transport({ port, ignoreTLS: true, authMethod: 'LOGIN', auth: { user: secret, pass: 'x' } }).sendMail(mail);
    assert.equal(stored.splice(0).length, 1);
  });

  await t.test('many by one connection', async () => {
    const pool = transport({ port, pool: true, maxConnections: 1, auth: { user: keyId, pass: secret } });
    await Promise.all(Array.from({ length: 30 }, () => pool.sendMail(mail)));
    assert.equal(stored.splice(0).length, 30);
  });

  await t.test('a large one is handed on while it comes in', async () => {
    const content = Buffer.alloc(3_000_000, 'quarterdeck ');
    await transport({ port, auth: { user: keyId, pass: secret } }).sendMail({ ...mail, attachments: [{ filename: 'a.bin', content }] });
    const [large] = stored.splice(0);
    assert.equal(large!.wasStreamed, true);
    assert.ok(large!.bytes.length > 4_000_000);
    assert.ok(large!.bytes.includes(Buffer.alloc(57, 'quarterdeck ').toString('base64')));
  });
});
