import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alert, covered, detail, group, made, source, unresolved, user, ward } from '../support.ts';

test('odd deliveries open an incident all the same, hostile ones get a clear refusal', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const its = await covered(owner, { steps: [[user(owner), 3600]] });
  const { deliver, direct } = await source(owner, qd.url, its.service.id);
  const opens = async (body: unknown, via = deliver) => {
    const answer = await via(body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const [incident] = await unresolved(owner);
    assert.ok(incident, `nothing was opened by ${JSON.stringify(body).slice(0, 200)}`);
    const found = await detail(owner, incident.id);
    await made(owner.post(`/oncall/incidents/${incident.id}/resolve`));
    return found;
  };
  await opens({ alerts: [{ labels: {} }] });
  await opens({ alerts: [{ labels: { a: '1' }, status: 'suppressed', startsAt: 'yesterday', endsAt: '9'.repeat(400) }] });
  await opens({ alerts: [{ labels: { a: '2' }, startsAt: '-000001-01-01T00:00:00Z' }], version: '5', notification_reason: 'new' });
  await opens({ alerts: [{ labels: { a: '3' }, startsAt: '+275760-09-13T00:00:00.000Z', fingerprint: 'f'.repeat(100_000) }] });
  await opens({ alerts: [{ labels: { a: '4', constructor: 'x', __proto__x: 'y' }, fingerprint: '' }], truncatedAlerts: -3 });
  await opens([{ labels: { a: '5' }, endsAt: '2999-02-31T00:00:00Z' }], direct);
  const long = await opens({ alerts: [{ labels: { alertname: '🦜'.repeat(5_000) } }] });
  assert.ok(long.title.length <= 200 && long.title.isWellFormed());
  const hostile = await opens({
    alerts: [{ labels: { alertname: '<script>alert(1)</script>' }, annotations: { summary: "'; drop table x; --" } }],
  });
  assert.equal(hostile.title, "'; drop table x; --");

  // The same occurrence twice in one delivery: the last word counts.
  const twice = await deliver(group([alert('t'), alert('t', { status: 'resolved' })]));
  assert.equal(twice.status, 200);
  assert.deepEqual(await unresolved(owner), []);

  const refused = async (body: unknown, status: number, headers = {}) => {
    const key = await made(owner.post('/oncall/alert-sources', { name: 'x', serviceId: its.service.id }));
    const answer = await fetch(`${qd.url}/api/v1/oncall/alert-sources/${key.id}/alerts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.token}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    assert.equal(answer.status, status);
    assert.match(((await answer.json()) as { error: string }).error, /\w{3}/);
  };
  await refused('{', 400);
  await refused({}, 400);
  await refused({ alerts: 'none' }, 400);
  await refused({ alerts: [{ labels: { a: 1 } }] }, 400);
  await refused({ alerts: [{ labels: { a: 'nul \0' } }] }, 400);
  await refused(`{"alerts":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, 400);
  await refused({ alerts: [] }, 415, { 'content-type': 'text/plain' });
  await refused(`{"alerts":[],"x":"${'y'.repeat(8_388_608)}"}`, 413);
  const empty = await deliver({ alerts: [] });
  assert.deepEqual([empty.status, empty.body], [200, { accepted: 0, firing: 0, resolved: 0 }]);
  assert.deepEqual(await unresolved(owner), []);
});

test('a storm of twelve thousand alerts in one delivery is one incident, told in one line, and cut with a word about it', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const its = await covered(owner, { steps: [[user(owner), 3600]] });
  const { deliver } = await source(owner, qd.url, its.service.id);
  const many = Array.from({ length: 12_000 }, (_, i) => ({
    labels: { i: String(i) },
    status: i < 2_000 ? 'resolved' : 'firing',
    startsAt: '2026-11-01T10:00:00Z',
  }));
  const answer = await deliver({ alerts: many });
  assert.deepEqual([answer.status, answer.body], [200, { accepted: 10_000, firing: 10_000, resolved: 0 }]);
  const [incident] = await unresolved(owner);
  assert.equal(incident.firingAlerts, 10_000);
  const found = await detail(owner, incident.id);
  const kinds = found.timeline.map((e: { kind: string }) => e.kind).filter((k: string) => /alert|trunc/.test(k));
  assert.deepEqual(kinds, ['alert_firing', 'payload_truncated']);
  assert.equal(found.alerts.length, 1_000);
});
