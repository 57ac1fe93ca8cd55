import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  alert,
  covered,
  detail,
  eventually,
  group,
  made,
  mails,
  once,
  overdue,
  source,
  unresolved,
  user,
  type Ward,
  ward,
} from '../support.ts';

const calm = (qd: Ward) => eventually(async () => (await overdue(qd)) === 0);
const kinds = (incident: { timeline: { kind: string; message: string }[] }, kind: string) =>
  incident.timeline.filter((e) => e.kind === kind).map((e) => e.message);

test('a new alert restarts an exhausted escalation', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 60]] });
  const { deliver } = await source(owner, qd.url, service.id);
  await deliver(group([alert('a')]));
  const [{ id }] = await unresolved(owner);
  await mails(smtp, owner.email, 1);
  await qd.clock.advance('61s');
  await once(owner, id, (i) => i.escalation.state === 'exhausted');

  await deliver(group([alert('a')]));
  await calm(qd);
  assert.equal((await detail(owner, id)).escalation.state, 'exhausted', 'what is known already is nothing new');

  await deliver(group([alert('a'), alert('b')]));
  await mails(smtp, owner.email, 2);
  const walking = await detail(owner, id);
  assert.equal(walking.escalation.state, 'walking');
  assert.match(kinds(walking, 'walk_restarted')[0]!, /^b down fires; the policy policy is walked again from its first step$/);
  assert.equal(walking.pages.length, 2);
  await qd.clock.advance('61s');
  await once(owner, id, (i) => i.escalation.state === 'exhausted');
  // One that ended and fires again is somebody's work again, too.
  await deliver(group([alert('a'), alert('b', { status: 'resolved' })]));
  await deliver(group([alert('a'), alert('b')]));
  await mails(smtp, owner.email, 3);
});

test('a new alert on an acknowledged incident pages the acknowledger and no other person', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 60]] });
  const { deliver } = await source(owner, qd.url, service.id);
  await deliver(group([alert('a')]));
  const [{ id }] = await unresolved(owner);
  await mails(smtp, owner.email, 1);
  const link = /\/oncall\/ack\/[\w-]+/.exec(smtp.received[0]!.data.replaceAll('=\r\n', ''))![0];
  assert.equal((await fetch(`${qd.url}${link}`, { method: 'POST' })).status, 200);

  await deliver(group([alert('a'), alert('b'), alert('c')]));
  const [, second] = await mails(smtp, owner.email, 2);
  assert.match(second!.data.replaceAll('=\r\n', ''), /2 more alerts fire: b down, c down\./);
  await calm(qd);
  const told = await detail(owner, id);
  assert.equal(told.status, 'acknowledged');
  assert.equal(kinds(told, 'acknowledger_told').length, 1);
  await deliver(group([alert('a'), alert('b'), alert('c')]));
  await calm(qd);
  assert.equal(smtp.received.length, 2);
});

test('if the acknowledger has left, a new alert escalates from the first step', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const ada = await qd.member(owner, 'admin', 'ada@example.com');
  const { service } = await covered(owner, { steps: [[user(owner), 60]] });
  const { deliver } = await source(owner, qd.url, service.id);
  await deliver(group([alert('a')]));
  const [{ id }] = await unresolved(owner);
  await mails(smtp, owner.email, 1);
  await made(ada.post(`/oncall/incidents/${id}/ack`));
  await made(owner.delete(`/organization/members/${ada.userId}`));
  await deliver(group([alert('a'), alert('b')]));
  await mails(smtp, owner.email, 2);
  const again = await detail(owner, id);
  assert.deepEqual([again.status, again.escalation.state], ['open', 'walking']);
});
