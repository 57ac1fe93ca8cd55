import assert from 'node:assert/strict';
import { test } from 'node:test';
import nodemailer from 'nodemailer';
import { quarterdeck } from '../../../../../../test/harness/index.ts';
import { run } from '../../../../../kernel/db/index.ts';
import { email } from '../../../index.ts';
import type { OpenEmail } from '../../../open.ts';
import { sendingKey } from '../../../test/sending-key.ts';
import { speakSmtp } from '../../../test/smtp-scene.ts';

const hello = { from: 'ada@example.com', to: 'bob@far.example', subject: 'hello', text: 'hi' };

test('a message is in the log before its 250', async (t) => {
  const server = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api,smtp', QUARTERDECK_PUBLIC_URL: 'http://localhost' } });
  const { owner, own } = server;
  const key = await sendingKey(server);
  const [port] = own<OpenEmail>(email as never).smtp.ports as [number];
  const transport = nodemailer.createTransport({
    host: '127.0.0.1',
    port,
    tls: { rejectUnauthorized: false },
    auth: { user: key.keyId, pass: key.secret },
  });
  t.after(() => transport.close());
  const idOf = (response: string) => /queued as (\S+)/.exec(response)![1]!;

  await t.test('a small one, and a large one that was streamed', async () => {
    const small = await transport.sendMail(hello);
    const { body } = await owner.get(`/email/messages/${idOf(small.response)}`);
    assert.equal(body.message.door, 'smtp');
    assert.equal(body.message.subject, 'hello');
    const content = Buffer.alloc(2_000_000, 'x');
    const large = await transport.sendMail({ ...hello, attachments: [{ filename: 'x', content }] });
    const shown = await owner.get(`/email/messages/${idOf(large.response)}`);
    assert.ok(shown.body.message.sizeBytes > 2_600_000);
    const raw = await owner.get(`/email/messages/${idOf(large.response)}/content`);
    assert.equal(Buffer.byteLength(raw.body), shown.body.message.sizeBytes);
  });

  await t.test('once for each key in its header', async () => {
    const headers = { 'X-Idempotency-Key': 'order-9' };
    const first = await transport.sendMail({ ...hello, headers });
    const second = await transport.sendMail({ ...hello, headers });
    assert.equal(idOf(second.response), idOf(first.response));
    await assert.rejects(transport.sendMail({ ...hello, subject: 'other', headers }), /550 5\.7\.1 this Idempotency-Key was used before/);
    const raw = await owner.get(`/email/messages/${idOf(first.response)}/content`);
    assert.doesNotMatch(raw.body, /idempotency/i);
  });

  await t.test('aborted and malformed messages are not stored', async () => {
    const before = (await owner.get('/email/settings')).body.acceptedToday;
    const client = await speakSmtp(t, port);
    await client.beginMessage(key.secret);
    client.socket.write(`From: ada@example.com\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(600)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.socket.destroy();
    const other = await speakSmtp(t, port);
    await other.beginMessage(key.secret);
    other.socket.write(`From: ada@example.com\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(600)}`);
    assert.match(await other.say('a\nb\r\n.'), /^554 5\.6\.0/);
    assert.equal((await owner.get('/email/settings')).body.acceptedToday, before);
  });

  await t.test('over the quota of the day the client keeps it, and a revoked key is sent away', async () => {
    await server.app.db.write((tx) => run(tx)`insert into email.posture (org_id, daily_quota) values (${owner.orgId}, 0)`);
    await assert.rejects(transport.sendMail(hello), /451 4\.7\.1 the daily quota of 0 recipients/);
    const client = await speakSmtp(t, port);
    await client.beginMessage(key.secret);
    await owner.delete(`/email/keys/${key.id}`);
    assert.match(await client.hear(), /^421 4\.7\.0 the send key was revoked/);
    await assert.rejects(transport.sendMail(hello), /535 5\.7\.8/);
  });
});
