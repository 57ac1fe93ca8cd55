import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { readReply } from '../../rules/sms-reply.ts';
import { detail, open, phoneWard } from '../phone-support.ts';
import { eventually } from '../support.ts';

const sms = [{ channel: 'sms', delaySeconds: 0 }];

test('a page by SMS names its code, and replying with it acknowledges as the paged person', async (t) => {
  const qd = await phoneWard(t, sms);
  const incident = await open(qd);
  const message = await qd.twilio.received({ to: qd.alice.phone, text: /checkout is down/ });
  const code = /Reply (\d{4})a/.exec(message.text)![1]!;
  assert.equal(await qd.twilio.report(message.sid, 'delivered'), 204);
  assert.equal((await detail(qd, incident.id)).pages[0].state, 'delivered');

  const inbox = `${qd.url}/api/v1/oncall/twilio/${qd.owner.orgId}/sms`;
  assert.match((await qd.twilio.text(inbox, qd.alice.phone, `${code}a`)).reply, /^Acknowledged/);
  const after = await detail(qd, incident.id);
  assert.equal(after.status, 'acknowledged');
  assert.equal(after.acknowledgedBy.id, qd.alice.userId);
  assert.equal(after.pages[0].state, 'confirmed');

  assert.match((await qd.twilio.text(inbox, qd.alice.phone, 'r')).reply, /^Resolved/);
  assert.equal((await detail(qd, incident.id)).status, 'resolved');
  assert.match((await qd.twilio.text(inbox, qd.alice.phone, 'a')).reply, /no open incident/);
});

test('with several incidents open a bare reply is asked which one', async (t) => {
  const qd = await phoneWard(t, sms);
  const first = await open(qd, 'one');
  await qd.twilio.received({ to: qd.alice.phone, text: /one/ });
  const second = await open(qd, 'two');
  await qd.twilio.received({ to: qd.alice.phone, text: /two/ });
  const inbox = `${qd.url}/api/v1/oncall/twilio/${qd.owner.orgId}/sms`;
  const asked = await qd.twilio.text(inbox, qd.alice.phone, 'ack');
  assert.match(asked.reply, /2 incidents are open\. Say which: \d{4}a, \d{4}a/);
  for (const { id } of [first, second]) assert.equal((await detail(qd, id)).status, 'open');

  // A code is found however many pages went out since.
  const text = qd.twilio.sent.find((m) => /one/.test(m.text))!.text;
  const named = /Reply (\d{4})a/.exec(text)![1]!;
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into oncall.page
      select (jsonb_populate_record(p, jsonb_build_object('id', 'pag_zz' || lpad(n::text, 6, '0'), 'code', '0000', 'round', n))).*
        from oncall.page p, generate_series(1, 120) n where p.incident_id = ${second.id}`,
  );
  assert.match((await qd.twilio.text(inbox, qd.alice.phone, `${named}a`)).reply, /^Acknowledged/);
  assert.equal((await detail(qd, first.id)).status, 'acknowledged');
});

test('a person who texted STOP gets no SMS, and everybody can see why', async (t) => {
  const qd = await phoneWard(t, sms);
  await qd.twilio.text(`${qd.url}/api/v1/oncall/twilio/${qd.owner.orgId}/sms`, qd.alice.phone, 'STOP');
  const incident = await open(qd);
  await eventually(async () => (await detail(qd, incident.id)).pages[0].state === 'failed');
  assert.match((await detail(qd, incident.id)).pages[0].error, /texted STOP/);
  assert.equal(qd.twilio.sent.length, 0);

  await qd.alice.put('/oncall/me/settings', { phone: qd.alice.phone, rules: sms });
  await open(qd, 'again');
  await qd.twilio.received({ to: qd.alice.phone, text: /again/ });
});

test('replies are read as people write them', () => {
  assert.deepEqual(readReply(' 1234 Ack! '), { act: 'acknowledge', code: '1234' });
  assert.deepEqual(readReply('r'), { act: 'resolve' });
  assert.deepEqual(readReply('Stop'), { act: 'stop' });
  for (const unclear of ['', 'hello', '12345a', '1234', 'a'.repeat(10_000)]) assert.deepEqual(readReply(unclear), { act: 'unclear' });
});
