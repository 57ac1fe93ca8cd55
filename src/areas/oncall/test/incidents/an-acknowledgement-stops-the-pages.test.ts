import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covered, detail, made, mails, once, user, ward } from '../support.ts';

test('an incident pages the first step by email, and an acknowledgement stops it', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const bob = await qd.member(owner, 'member', 'bob@example.com');
  const { service, policy } = await covered(owner, {
    steps: [
      [user(owner), 300],
      [user(bob), 300],
    ],
  });

  const opened = await owner.post('/oncall/incidents', { serviceId: service.id, title: 'checkout is down', description: 'no orders' });
  assert.equal(opened.status, 201);
  assert.equal(opened.body.status, 'open');
  assert.equal(opened.headers.get('location'), `/api/v1/oncall/incidents/${opened.body.id}`);
  const [mail] = await mails(smtp, owner.email, 1);
  assert.match(mail!.data, /Subject: \[service \d+\] checkout is down/);
  assert.match(mail!.data, /no orders/);
  assert.match(mail!.data, /\/oncall\/ack\//);

  const paged = await once(owner, opened.body.id, (i) => i.pages[0]?.state === 'sent');
  assert.deepEqual(
    paged.timeline.map((e: { kind: string }) => e.kind),
    ['opened', 'step_fired', 'page_sent'],
  );
  assert.deepEqual(
    { ...paged.escalation, nextAt: '' },
    { policyId: policy.id, policyName: 'policy', state: 'walking', pass: 0, step: 0, nextAt: '' },
  );

  const acknowledged = await made(owner.post(`/oncall/incidents/${opened.body.id}/ack`));
  assert.equal(acknowledged.status, 'acknowledged');
  await qd.clock.advance('1h');
  const later = await detail(owner, opened.body.id);
  assert.equal(later.escalation.state, 'acknowledged');
  assert.equal(later.acknowledgedBy.id, owner.userId);
  assert.equal(later.pages.length, 1);
  assert.equal(smtp.received.length, 1, 'bob is not paged');

  assert.equal((await bob.get('/oncall/incidents')).status, 403);
  const again = await owner.post(`/oncall/incidents/${opened.body.id}/acknowledge`);
  assert.equal(again.status, 200);
  assert.equal(again.body.acknowledgedAt, acknowledged.acknowledgedAt);
  assert.equal((await owner.post(`/oncall/incidents/${opened.body.id}/resolve`)).status, 200);
  assert.equal((await owner.post(`/oncall/incidents/${opened.body.id}/resolve`)).status, 409);
  assert.equal((await owner.post(`/oncall/incidents/${opened.body.id}/ack`)).status, 409);
});

test('a second acknowledger is in the timeline once, however often they acknowledge', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const bob = await qd.member(owner, 'admin', 'bob@example.com');
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  for (const somebody of [owner, bob, owner, bob, bob]) assert.equal((await somebody.post(`/oncall/incidents/${id}/ack`)).status, 200);
  const { timeline } = await detail(owner, id);
  const told = timeline.filter((e: { kind: string }) => e.kind === 'acknowledged').map((e: { actor: { id: string } }) => e.actor.id);
  assert.deepEqual(told, [owner.userId, bob.userId]);
});

test('a second acknowledger is in the timeline again after the escalation restarts', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const bob = await qd.member(owner, 'admin', 'bob@example.com');
  const carol = await qd.member(owner, 'admin', 'carol@example.com');
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  const acknowledge = async (somebody: typeof bob) => assert.equal((await somebody.post(`/oncall/incidents/${id}/ack`)).status, 200);
  await acknowledge(carol);
  await acknowledge(bob);
  assert.equal((await owner.delete(`/organization/members/${carol.userId}`)).status, 204);
  await once(owner, id, (i) => i.status === 'open');
  for (const somebody of [owner, bob, bob]) await acknowledge(somebody);
  const { timeline } = await detail(owner, id);
  const told = timeline.filter((e: { kind: string }) => e.kind === 'acknowledged').map((e: { actor: { id: string } }) => e.actor.id);
  assert.deepEqual(told, [carol.userId, bob.userId, owner.userId, bob.userId]);
});

test('without an acknowledgement the walk goes on, repeats, and says when it is through', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const bob = await qd.member(owner, 'member', 'bob@example.com');
  const { service } = await covered(owner, {
    steps: [
      [user(owner), 60],
      [user(bob, 'Bob'), 120],
    ],
    repeat: 1,
  });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, owner.email, 1);
  await once(owner, id, (i) => i.escalation.nextAt && i.pages.every((p: { state: string }) => p.state === 'sent'));

  await qd.clock.advance('61s');
  await mails(smtp, 'bob@example.com', 1);
  await qd.clock.advance('121s');
  await mails(smtp, owner.email, 2);
  await qd.clock.advance('61s');
  await mails(smtp, 'bob@example.com', 2);
  await qd.clock.advance('121s');
  const over = await once(owner, id, (i) => i.escalation.state === 'exhausted');
  assert.equal(over.status, 'open');
  assert.deepEqual(
    over.timeline.map((e: { kind: string }) => e.kind).filter((k: string) => k !== 'page_sent'),
    ['opened', 'step_fired', 'step_fired', 'step_fired', 'step_fired', 'escalation_exhausted'],
  );
  assert.equal(smtp.received.length, 4);
});
