import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covered, made, mails, once, user, ward } from '../support.ts';

const policy = (steps: unknown[], repeat = 0) => ({ name: 'policy', repeat, steps });
const step = (id: string, waitSeconds = 60, kind = 'user') => ({ target: { kind, id, label: '' }, waitSeconds });

test('a policy that could not be walked is refused with a sentence that names what is wrong', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const stranger = await qd.organization('elsewhere');
  const refused = async (body: unknown, status: number, sentence: RegExp) => {
    const answer = await owner.post('/oncall/escalation-policies', body);
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.match(answer.body.error, sentence);
  };
  await refused(policy([step(stranger.userId)]), 400, /^steps\.0\.target\.id names a user who is no member/);
  await refused(policy([step(owner.userId), step('sch_none', 60, 'schedule')]), 404, /schedule in steps\.1\.target\.id/);
  await refused(policy([step(owner.userId, 0), step(owner.userId, 0)], 1), 400, /every waitSeconds is 0/);
  await refused(policy([]), 400, /steps/);
  await refused(policy([step(owner.userId)], 10), 400, /repeat must be at most 9/);
  await refused(policy([step(owner.userId, 86_401)]), 400, /waitSeconds must be at most 86400/);
  await refused(policy(Array.from({ length: 21 }, () => step(owner.userId))), 400, /at most 20/);
  await refused({ ...policy([step(owner.userId)]), surprise: 1 }, 400, /surprise is not a known field/);

  const made0 = await made(owner.post('/oncall/escalation-policies', policy([step(owner.userId, 0)])));
  assert.equal(made0.services, 0);
  assert.equal(made0.steps[0].target.label, 'owner', 'an empty label shows the name in the directory');
  const bad = await owner.patch(`/oncall/escalation-policies/${made0.id}`, { repeat: 2 });
  assert.equal(bad.status, 400, 'the waits of the stored steps count too');
  const same = await made(owner.patch(`/oncall/escalation-policies/${made0.id}`, {}));
  assert.deepEqual(same, made0);
});

test('a policy in use cannot be deleted; once detached it can, and new incidents send no page', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const its = await covered(owner, { steps: [[user(owner), 60]] });
  const refused = await owner.delete(`/oncall/escalation-policies/${its.policy.id}`);
  assert.equal(refused.status, 409);
  assert.match(refused.body.error, new RegExp(its.service.name));
  assert.equal((await owner.put(`/oncall/services/${its.service.id}`, { escalationPolicyId: 'pol_none' })).status, 404);
  assert.equal((await owner.put(`/oncall/services/${its.service.id}`, {})).status, 400, 'PUT names the policy, or null');
  const unchanged = await made(owner.patch(`/oncall/services/${its.service.id}`, {}));
  assert.equal(unchanged.escalationPolicyId, its.policy.id);
  const detached = await made(owner.patch(`/oncall/services/${its.service.id}`, { escalationPolicyId: null }));
  assert.equal('escalationPolicyId' in detached, false);
  assert.equal((await owner.delete(`/oncall/escalation-policies/${its.policy.id}`)).status, 204);
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: its.service.id, title: 'down' }));
  assert.equal((await once(owner, id, () => true)).escalation.state, 'none');
});

test('changing or detaching a policy never reaches an incident under way', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const bob = await qd.member(owner, 'member', 'bob@example.com');
  const its = await covered(owner, {
    steps: [
      [user(owner), 60],
      [user(bob), 60],
    ],
  });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: its.service.id, title: 'down' }));
  await mails(smtp, owner.email, 1);
  await made(owner.patch(`/oncall/escalation-policies/${its.policy.id}`, { name: 'renamed', steps: [step(owner.userId, 5)] }));
  await made(owner.put(`/oncall/services/${its.service.id}`, { escalationPolicyId: null }));
  await made(owner.delete(`/oncall/escalation-policies/${its.policy.id}`));
  await once(owner, id, (i) => i.pages[0]?.state === 'sent');
  await qd.clock.advance('61s');
  await mails(smtp, 'bob@example.com', 1);
  const found = await once(owner, id, () => true);
  assert.equal(found.escalation.policyName, 'policy');
});
