import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { covered, made, mails, once, user, type Ward, ward } from '../support.ts';

const rules = (qd: Ward, ...given: { channel: string; delaySeconds: number }[]) =>
  qd.app.db.write(
    (tx) => run(tx)`
      insert into oncall.paging_settings (org_id, user_id, phone, rules, updated_at)
      values (${qd.owner.orgId}, ${qd.owner.userId}, '+33612345678', ${JSON.stringify(given)}, kernel.now())`,
  );

const states = (incident: { pages: { channel: string; state: string }[] }) => incident.pages.map((p) => `${p.channel} ${p.state}`);

test('a page that is refused for good fails with the reason, and the next rule fires at once', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  // Without a credential, an SMS fails by itself; the mail an hour later need not wait any more.
  await rules(qd, { channel: 'sms', delaySeconds: 0 }, { channel: 'email', delaySeconds: 3600 });
  const { service } = await covered(owner, { steps: [[user(owner, 'Ada'), 7200]] });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, owner.email, 1);
  const found = await once(owner, id, (i) => i.pages.every((p: { state: string }) => p.state !== 'queued' && p.state !== 'sending'));
  assert.deepEqual(states(found).sort(), ['email sent', 'sms failed']);
  assert.match(found.pages.find((p: { channel: string }) => p.channel === 'sms').error, /^no-credential/);
  const failed = found.timeline.find((e: { kind: string }) => e.kind === 'page_failed');
  assert.match(failed.message, /^An SMS to Ada failed: no-credential.*; the next rule fires now$/);
});

test('a mailbox that does not exist fails at once', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  smtp.behave({ RCPT: '550 5.1.1 no such user' });
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  const found = await once(owner, id, (i) => i.pages[0]?.state === 'failed');
  assert.match(found.pages[0].error, /550 5\.1\.1 no such user/);
  assert.equal(found.pages[0].attempts, 1);
});

test('a server that is away is tried again, 5, 15, 45 and 120 seconds later, and then the page has failed', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  smtp.behave({ MAIL: '451 4.3.0 try later' });
  const { service } = await covered(owner, { steps: [[user(owner), 3600]] });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  for (const [attempts, seconds] of [
    [1, 5],
    [2, 15],
    [3, 45],
    [4, 120],
  ] as const) {
    const waiting = await once(owner, id, (i) => i.pages[0]?.state === 'queued' && i.pages[0].attempts === attempts);
    assert.match(waiting.pages[0].error, /451 4\.3\.0 try later/);
    await qd.clock.advance(`${seconds + 1}s`);
  }
  const found = await once(owner, id, (i) => i.pages[0]?.state === 'failed');
  assert.equal(found.pages[0].attempts, 5);
});

test('an acknowledgement ends the tries, and what was not sent is canceled', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  await rules(qd, { channel: 'email', delaySeconds: 0 }, { channel: 'email', delaySeconds: 600 });
  smtp.behave({ MAIL: '451 4.3.0 try later' });
  const { service } = await covered(owner, { steps: [[user(owner), 3600]] });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await once(owner, id, (i) => i.pages[0]?.state === 'queued' && i.pages[0].attempts === 1);
  await made(owner.post(`/oncall/incidents/${id}/ack`));
  smtp.behave('accept');
  await qd.clock.advance('1h');
  const found = await once(owner, id, (i) => i.pages.every((p: { state: string }) => p.state === 'canceled'));
  assert.equal(found.pages.length, 2);
  assert.match(found.timeline.find((e: { kind: string }) => e.kind === 'page_canceled').message, /^2 pages/);
  assert.deepEqual(smtp.received, []);
});
