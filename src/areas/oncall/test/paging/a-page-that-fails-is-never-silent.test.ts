import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { covered, made, mails, once, organizationOn, shared, user, type Ward, ward } from '../support.ts';

const oneWard = shared(ward);
const inOrganization = async (slug: string) => {
  const qd = await organizationOn(await oneWard(), slug);
  qd.smtp.behave('accept');
  return qd;
};

const rules = (qd: Ward, ...given: { channel: string; delaySeconds: number }[]) =>
  qd.app.db.write(
    (tx) => run(tx)`
      insert into oncall.paging_settings (org_id, user_id, phone, rules, updated_at)
      values (${qd.owner.orgId}, ${qd.owner.userId}, '+33612345678', ${JSON.stringify(given)}, kernel.now())`,
  );

const states = (incident: { pages: { channel: string; state: string }[] }) => incident.pages.map((p) => `${p.channel} ${p.state}`);

test('a page that is refused for good fails with the reason, and the next rule fires at once', async () => {
  const qd = await inOrganization('refused');
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

test('a mailbox that does not exist fails at once', async () => {
  const qd = await inOrganization('no-mailbox');
  const { owner, smtp } = qd;
  smtp.behave({ RCPT: '550 5.1.1 no such user' });
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  const found = await once(owner, id, (i) => i.pages[0]?.state === 'failed');
  assert.match(found.pages[0].error, /550 5\.1\.1 no such user/);
  assert.equal(found.pages[0].attempts, 1);
});

test('a server that is away for an hour costs an hour, not the page', async () => {
  const qd = await inOrganization('away');
  const { owner, smtp } = qd;
  smtp.behave({ MAIL: '451 4.3.0 try later' });
  const { service } = await covered(owner, { steps: [[user(owner, 'Ada'), 86_400]] });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  // Its neighbours move the clock as well: there may be more tries than it asked for.
  for (let attempts = 0; attempts < 8; ) {
    const waiting = await once(owner, id, (i) => i.pages[0]?.state === 'queued' && i.pages[0].attempts > attempts);
    ({ attempts } = waiting.pages[0]);
    assert.match(waiting.pages[0].error, /451 4\.3\.0 try later/);
    const delayed = waiting.timeline.filter((e: { kind: string }) => e.kind === 'page_delayed');
    assert.equal(delayed.length, 1, 'said once, not every time');
    assert.match(delayed[0].message, /^An email to Ada has not gone out yet: .*451 4\.3\.0 try later/);
    await qd.clock.advance(attempts < 8 ? '61s' : '1h');
  }
  smtp.behave('accept');
  await qd.clock.advance('61s');
  await mails(smtp, owner.email, 1);
});

test('an acknowledgement ends the tries, and what was not sent is canceled', async () => {
  const qd = await inOrganization('acknowledged');
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
  assert.deepEqual(
    smtp.received.filter((mail) => mail.to.includes(owner.email)),
    [],
  );
});

test('a rule that cannot be read and a channel that the database does not know are told, and take no other page along', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  // As after a release that knows more channels than this database: a call cannot be written, a carrier pigeon not even be read.
  await qd.app.db.write((tx) => tx.query(sql`alter table oncall.page drop constraint page_channel_check`));
  await qd.app.db.write((tx) =>
    tx.query(sql`alter table oncall.page add constraint page_channel_check check (channel in ('email', 'sms'))`),
  );
  await rules(
    qd,
    { channel: 'voice', delaySeconds: 0 },
    { channel: 'pigeon', delaySeconds: 0 },
    { channel: 'email', delaySeconds: -5 },
    { channel: 'email', delaySeconds: 0 },
  );
  const { service } = await covered(owner, { steps: [[user(owner, 'Ada'), 300]] });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, owner.email, 1);
  const found = await once(owner, id, (i) => i.pages[0]?.state === 'sent');
  assert.deepEqual(states(found), ['email sent']);
  const told = found.timeline.filter((e: { kind: string }) => e.kind === 'page_failed').map((e: { message: string }) => e.message);
  assert.equal(told.length, 3);
  assert.match(told[0], /^A call to Ada could not be put on record, so it does not go out: .*page_channel_check/);
  assert.match(told[1], /^A rule of Ada cannot be followed: the channel "pigeon" is not known here/);
  assert.match(told[2], /the delay -5 is not a number of seconds/);
});

test('when none of somebody’s rules can be read, they get a mail', async () => {
  const qd = await inOrganization('unread');
  const { owner, smtp } = qd;
  await rules(qd, { channel: 'pigeon', delaySeconds: 0 });
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, owner.email, 1);
});
