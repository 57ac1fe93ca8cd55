import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detail, open, phoneWard } from '../phone-support.ts';

const voiceThenSms = [
  { channel: 'voice', delaySeconds: 0 },
  { channel: 'sms', delaySeconds: 600 },
];

test('a call says what is wrong, and a pressed 1 acknowledges', async (t) => {
  const qd = await phoneWard(t, voiceThenSms);
  const incident = await open(qd, 'a <b>bold</b> & "quoted" title');
  const call = await qd.twilio.received({ to: qd.alice.phone, kind: 'call' });
  assert.match(call.text, /a <b>bold<\/b> & "quoted" title/);
  assert.match(await qd.twilio.pickUp(call.sid, '*1'), /Acknowledged/);
  await qd.twilio.report(call.sid, 'completed');

  const after = await detail(qd, incident.id);
  assert.equal(after.status, 'acknowledged');
  assert.deepEqual(after.pages.map((p: { state: string }) => p.state).sort(), ['canceled', 'confirmed']);
  assert.match(await qd.twilio.pickUp(call.sid, '1'), /Already acknowledged by/);
});

test('a call that ends without a key has failed, and the next rule fires at once', async (t) => {
  const qd = await phoneWard(t, voiceThenSms);
  const incident = await open(qd);
  const call = await qd.twilio.received({ to: qd.alice.phone, kind: 'call' });
  await qd.twilio.report(call.sid, 'completed'); // a voicemail box

  await qd.twilio.received({ to: qd.alice.phone, kind: 'message', text: /checkout is down/ });
  const [page] = (await detail(qd, incident.id)).pages.filter((p: { channel: string }) => p.channel === 'voice');
  assert.equal(page.state, 'failed');
  assert.match(page.error, /no key was pressed/);
});
