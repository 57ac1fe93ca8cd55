import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller } from '../../../../../test/harness/index.ts';
import { alert, covered, group, made, service, source, unresolved, user, ward } from '../support.ts';

test('an alert source opens with its own token only, and not any more once it is revoked', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const its = await covered(owner, { steps: [[user(owner), 60]] });
  const one = await source(owner, qd.url, its.service.id);
  const other = await source(owner, qd.url, its.service.id);
  const body = group([alert('a')]);
  const [before] = (await made(owner.get('/oncall/alert-sources'))).sources.filter((s: { id: string }) => s.id === one.id);
  assert.ok(!JSON.stringify(before).includes(one.token) && !('token' in before), 'a list shows no token');
  assert.equal(before.lastEventAt, null);

  const at = (id: string) => `/oncall/alert-sources/${id}/alerts`;
  const foreign = await caller(qd.url, other.token).post(at(one.id), body);
  const unknown = await caller(qd.url, one.token).post(at('src_00000000000000000000000000'), body);
  const keyless = await qd.anonymous.post(at(one.id), body);
  const personal = await owner.post(at(one.id), body);
  for (const answer of [foreign, unknown, keyless, personal]) assert.equal(answer.status, 401, JSON.stringify(answer.body));
  assert.equal(foreign.body.error, unknown.body.error, 'which sources exist is not told');
  assert.deepEqual(await unresolved(owner), []);

  assert.equal((await one.deliver(body)).status, 200);
  const [after] = (await made(owner.get('/oncall/alert-sources'))).sources.filter((s: { id: string }) => s.id === one.id);
  assert.ok(after.lastEventAt > before.createdAt);
  assert.equal((await owner.delete(`/oncall/alert-sources/${one.id}`)).status, 204);
  assert.equal((await one.deliver(body)).status, 401);
  assert.equal((await owner.delete(`/oncall/alert-sources/${one.id}`)).status, 404);
  assert.equal((await other.deliver(body)).status, 200);
  for (let i = 0; i < 80; i++) assert.equal((await one.deliver(body)).status, 401, 'never 429, however often it asks');
});

test('a delivery under way when its source is revoked is refused, or was stored before', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const its = await service(owner);
  for (let i = 0; i < 8; i++) {
    const one = await source(owner, qd.url, its.id);
    const answers = await Promise.all([
      one.deliver(group([alert(`x${i}`)])),
      owner.delete(`/oncall/alert-sources/${one.id}`),
      one.deliver(group([alert(`y${i}`)])),
    ]);
    assert.equal(answers[1]!.status, 204);
    for (const answer of [answers[0]!, answers[2]!]) assert.ok([200, 401].includes(answer.status), String(answer.status));
    assert.equal((await one.deliver(group([alert(`z${i}`)]))).status, 401);
  }
});

test('a service with a live source or an unresolved incident stays; its policy goes with it', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const its = await covered(owner, { steps: [[user(owner), 60]] });
  const one = await source(owner, qd.url, its.service.id);
  const incident = await made(owner.post('/oncall/incidents', { serviceId: its.service.id, title: 'down' }));
  const refused = await owner.delete(`/uptime/services/${its.service.id}`);
  assert.equal(refused.status, 409);
  assert.match(refused.body.error, /the alert source prometheus, the incident “down”/);
  const services = async () => (await made(owner.get('/oncall/services'))).services;
  assert.equal((await services())[0].escalationPolicyId, its.policy.id, 'a refused delete changes nothing');
  await made(owner.delete(`/oncall/alert-sources/${one.id}`));
  await made(owner.post(`/oncall/incidents/${incident.id}/resolve`));
  assert.equal((await owner.delete(`/uptime/services/${its.service.id}`)).status, 204);
  assert.equal((await owner.delete(`/oncall/escalation-policies/${its.policy.id}`)).status, 204);
});
