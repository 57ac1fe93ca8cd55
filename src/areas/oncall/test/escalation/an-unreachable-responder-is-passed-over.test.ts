import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { covered, detail, eventually, made, mails, once, overdue, user, type Ward, ward } from '../support.ts';

const calm = (qd: Ward) => eventually(async () => (await overdue(qd)) === 0);
const open = (qd: Ward, serviceId: string) => made(qd.owner.post('/oncall/incidents', { serviceId, title: 'down' }));
const messages = (incident: { timeline: { kind: string; message: string }[] }, kind: string) =>
  incident.timeline.filter((e) => e.kind === kind).map((e) => e.message);
const schedule = (qd: Ward, ...who: { userId: string }[]) =>
  made(
    qd.owner.post('/oncall/schedules', {
      name: 'night',
      timezone: 'UTC',
      participants: who.map(({ userId }, i) => ({ userId, label: `person ${i}` })),
      handoff: { interval: 'weekly', time: '00:00' },
    }),
  );
/** Somebody whose every page fails for good: they want SMS, and the organization has no provider. */
const unreachable = (qd: Ward, { userId }: { userId: string }) =>
  qd.app.db.write(
    (tx) => run(tx)`
      insert into oncall.paging_settings (org_id, user_id, phone, rules, updated_at)
      values (${qd.owner.orgId}, ${userId}, '+33612345678', '[{"channel":"sms","delaySeconds":0},{"channel":"voice","delaySeconds":600}]', kernel.now())`,
  );

test('an unreachable person on call is passed over at once for the next in the rotation, then for the next step', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const [a, b, c] = [await qd.member(owner, 'member'), await qd.member(owner, 'member'), await qd.member(owner, 'member', 'c@example.com')];
  await unreachable(qd, a);
  await unreachable(qd, b);
  const its = await schedule(qd, a, b, c);
  const { service } = await covered(owner, {
    steps: [
      [{ kind: 'schedule', id: its.id, label: '' }, 3600],
      [user(owner), 3600],
    ],
  });
  const { id } = await open(qd, service.id);
  await mails(smtp, 'c@example.com', 1);
  await calm(qd);
  const found = await detail(owner, id);
  assert.deepEqual(
    found.pages.map((p: { label: string; state: string }) => `${p.label} ${p.state}`),
    ['person 0 failed', 'person 0 failed', 'person 1 failed', 'person 1 failed', 'person 2 sent'],
  );
  assert.match(
    messages(found, 'step_fired')[2]!,
    /pages person 2, for person 0, on call in the schedule night, cannot be reached; unless somebody acknowledges, step 2 follows at /,
  );
  assert.equal(found.escalation.step, 0, 'the second step waits for its time');
  assert.equal(smtp.received.filter((m) => m.to.includes(owner.email)).length, 0);
});

test('a step for one person whose pages all fail moves on at once, and the last step says that no page got through', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const [a, b] = [await qd.member(owner, 'member'), await qd.member(owner, 'member', 'b@example.com')];
  await unreachable(qd, a);
  const { service } = await covered(owner, {
    steps: [
      [user(a, 'Ada'), 3600],
      [user(b), 3600],
    ],
  });
  const { id } = await open(qd, service.id);
  await mails(smtp, 'b@example.com', 1);
  assert.match(
    messages(await detail(owner, id), 'nobody_on_call')[0]!,
    /^Step 1 of policy reached nobody: Ada cannot be reached; going on at once/,
  );

  const alone = await covered(owner, { steps: [[user(a, 'Ada'), 0]], repeat: 0 });
  const second = await open(qd, alone.service.id);
  const over = await once(owner, second.id, (i) => messages(i, 'nobody_on_call').length === 1 && i.escalation.state === 'exhausted');
  assert.equal(over.pages.length, 2);
});

test('without a relay the next person is paged at once', async (t) => {
  const qd = await ward(t, { env: { QUARTERDECK_SMTP_RELAY: '' } });
  const { owner } = qd;
  const bob = await qd.member(owner, 'member');
  const { service } = await covered(owner, {
    steps: [
      [user(owner), 3600],
      [user(bob), 3600],
    ],
  });
  const { id } = await open(qd, service.id);
  const found = await once(owner, id, (i) => i.escalation.state === 'exhausted');
  assert.equal(messages(found, 'page_failed').length, 0, 'mail may leave a minute later');
  assert.equal(messages(found, 'page_delayed').length, 2);
  assert.match(messages(found, 'page_delayed')[0]!, /QUARTERDECK_SMTP_RELAY/);
  assert.deepEqual(
    found.pages.map((p: { state: string }) => p.state),
    ['queued', 'queued'],
  );
});

test('a page that fails brings back the rules that the limits held back', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const ada = await qd.member(owner, 'member', 'ada@example.com');
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into oncall.paging_settings (org_id, user_id, phone, rules, updated_at)
      values (${owner.orgId}, ${ada.userId}, '+33612345678', '[{"channel":"sms","delaySeconds":0},{"channel":"email","delaySeconds":0}]', kernel.now())`,
  );
  const other = await covered(owner, { steps: [[user(ada), 3600]] });
  const crowd = (await open(qd, other.service.id)).id;
  await calm(qd);
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into oncall.page (org_id, id, incident_id, pass, step, user_id, label, channel, rule_index, code, state, due_at)
      select ${owner.orgId}, kernel.new_id('page'), ${crowd}, n, 7, ${ada.userId}, 'Ada', 'email', 0, '0000', 'sent', kernel.now() from generate_series(1, 30) n`,
  );
  const { service } = await covered(owner, { steps: [[user(ada), 3600]] });
  const { id } = await open(qd, service.id);
  await mails(smtp, 'ada@example.com', 2);
  await calm(qd);
  const found = await detail(owner, id);
  assert.equal(messages(found, 'page_held_back').length, 1);
  assert.deepEqual(
    found.pages.map((p: { channel: string; state: string }) => `${p.channel} ${p.state}`),
    ['sms failed', 'email sent'],
  );
});

test('removing a member on call, in a policy and as acknowledger is audited and hands on', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const ada = await qd.member(owner, 'admin', 'ada@example.com');
  const bob = await qd.member(owner, 'member', 'bob@example.com');
  const its = await schedule(qd, ada, bob);
  await made(
    owner.post(`/oncall/schedules/${its.id}/overrides`, {
      userId: ada.userId,
      label: '',
      startsAt: '2030-01-01T00:00:00Z',
      endsAt: '2030-01-02T00:00:00Z',
    }),
  );
  const { service } = await covered(owner, {
    steps: [
      [{ kind: 'schedule', id: its.id, label: '' }, 86_400],
      [user(ada), 60],
    ],
  });
  const waiting = (await open(qd, service.id)).id;
  await mails(smtp, 'ada@example.com', 1);
  const taken = await covered(owner, { steps: [[user(owner), 86_400]] });
  const acknowledged = (await open(qd, taken.service.id)).id;
  await mails(smtp, owner.email, 1);
  await made(ada.post(`/oncall/incidents/${acknowledged}/ack`));

  await made(owner.delete(`/organization/members/${ada.userId}`));
  await mails(smtp, 'bob@example.com', 1);
  await mails(smtp, owner.email, 2);
  const [changed] = (await made(owner.get('/oncall/schedules'))).schedules;
  assert.deepEqual([changed.onCallNow.userId, changed.participants.length, changed.overrides.length], [bob.userId, 1, 0]);
  assert.equal(messages(await detail(owner, waiting), 'responder_left').length, 1);
  assert.equal((await detail(owner, acknowledged)).status, 'open');
  const removed = await qd.app.db.read(
    (tx) => row(tx, Type.Object({ detail: Type.Unsafe<{ oncall: string[] }>({}) }))`
      select detail from kernel.audit where action = 'organization.member.remove'`,
  );
  const told = removed!.detail.oncall.join('\n');
  for (const sentence of [
    /they were on call in the schedule night; person 1 is now/,
    /1 overrides/,
    /the policy policy still names them/,
    /handed on/,
  ])
    assert.match(told, sentence);
});
