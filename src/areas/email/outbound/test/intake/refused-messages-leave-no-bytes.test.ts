import assert from 'node:assert/strict';
import { test } from 'node:test';
import nodemailer from 'nodemailer';
import { caller } from '../../../../../../test/harness/index.ts';
import { email } from '../../../index.ts';
import type { OpenEmail } from '../../../open.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';

test('refused messages leave no bytes: a quota limits the disk too', async (t) => {
  const { qd, key } = await mailScene(t, {}, { env: { QUARTERDECK_EMAIL_DAILY_QUOTA: '2' } });
  const stored = async () => {
    let bytes = 0;
    for await (const { size } of qd.app.storage.list('mail/')) bytes += size;
    return bytes;
  };
  const once = (body: object) => caller(qd.url, key.secret).post('/email/send', body, { 'idempotency-key': 'order-1' });
  const big = letter({ text: 'x'.repeat(200_000) });
  const first = await once(big);
  assert.equal(first.status, 202);
  await untilState(qd, (first.body as { id: string }).id, 'delivered');
  const accepted = await stored();
  assert.ok(accepted > 200_000);

  // The same once more is answered, and not kept once more.
  for (let n = 0; n < 5; n++) assert.equal((await once(big)).status, 202);
  assert.equal(await stored(), accepted);

  // Over the quota, by HTTP and as a stream by SMTP.
  const many = { ...big, to: ['a@far.example', 'b@far.example'] };
  for (let n = 0; n < 5; n++) assert.equal((await key.post('/email/send', many)).status, 429);
  const [port] = qd.own<OpenEmail>(email as never).smtp.ports as [number];
  const transport = nodemailer.createTransport({
    host: '127.0.0.1',
    port,
    tls: { rejectUnauthorized: false },
    auth: { user: key.keyId, pass: key.secret },
  });
  t.after(() => transport.close());
  const content = Buffer.alloc(1_000_000, 'x');
  const mail = {
    from: 'ada@example.com',
    to: 'a@far.example, b@far.example',
    subject: 'large',
    text: 'x',
    attachments: [{ filename: 'x', content }],
  };
  await assert.rejects(transport.sendMail(mail), /451 4\.7\.1/);
  for (let tries = 0; (await stored()) !== accepted && tries < 100; tries++) await new Promise((next) => setTimeout(next, 20));
  assert.equal(await stored(), accepted);
  const sent = await transport.sendMail({ ...mail, to: 'a@far.example' });
  assert.match(sent.response, /^250/);
  assert.ok((await stored()) > accepted + 1_000_000);
});
