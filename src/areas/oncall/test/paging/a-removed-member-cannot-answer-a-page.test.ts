import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detail, open, phoneWard } from '../phone-support.ts';
import { made, mails } from '../support.ts';

test('a removed member cannot answer a page by link, key or text', async (t) => {
  const qd = await phoneWard(t, [
    { channel: 'sms', delaySeconds: 0 },
    { channel: 'voice', delaySeconds: 0 },
    { channel: 'email', delaySeconds: 0 },
  ]);
  const { id } = await open(qd);
  const message = await qd.twilio.received({ to: qd.alice.phone, kind: 'message' });
  const call = await qd.twilio.received({ to: qd.alice.phone, kind: 'call' });
  const [mail] = await mails(qd.smtp, qd.alice.email, 1);
  const link = /\/oncall\/ack\/[\w-]+/.exec(mail!.data.replaceAll('=\r\n', ''))![0];
  const code = /Reply (\d{4})a/.exec(message.text)![1]!;
  await made(qd.owner.delete(`/organization/members/${qd.alice.userId}`));

  const stillOpen = async () => assert.equal((await detail(qd, id)).status, 'open');
  assert.equal((await fetch(`${qd.url}${link}`)).status, 403);
  assert.equal((await fetch(`${qd.url}${link}`, { method: 'POST' })).status, 403);
  await stillOpen();
  assert.match(await qd.twilio.pickUp(call.sid, '1'), /no member/);
  await stillOpen();
  assert.match(await qd.twilio.pickUp(call.sid, '2'), /no member/);
  await stillOpen();
  const inbox = `${qd.url}/api/v1/oncall/twilio/${qd.owner.orgId}/sms`;
  for (const text of [`${code}a`, `${code}r`, 'a'])
    assert.match((await qd.twilio.text(inbox, qd.alice.phone, text)).reply, /no open incident/);
  await stillOpen();
  assert.ok((await detail(qd, id)).pages.every((p: { state: string }) => p.state !== 'confirmed'));
});
