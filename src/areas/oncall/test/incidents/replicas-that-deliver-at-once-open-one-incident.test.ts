import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller } from '../../../../../test/harness/index.ts';
import { alert, covered, detail, eventually, group, made, source, unresolved, user, ward } from '../support.ts';

test('replicas that deliver the same group at once to two servers open one incident and send one page', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const second = await ward(t, { connection: qd.connection, dataDir: qd.dataDir, env: { QUARTERDECK_SMTP_RELAY: smtp.url } });
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const one = await source(owner, qd.url, service.id);
  const other = await made(owner.post('/oncall/alert-sources', { name: 'replica', serviceId: service.id }));

  const body = group([alert('a'), alert('b'), alert('c')]);
  const deliveries = Array.from({ length: 24 }, (_, i) =>
    i % 3 === 2
      ? caller(second.url, other.token).post(`/oncall/alert-sources/${other.id}/alerts`, body)
      : caller(i % 2 ? second.url : qd.url, one.token).post(`/oncall/alert-sources/${one.id}/alerts`, body),
  );
  for (const answer of await Promise.all(deliveries)) assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const found = await unresolved(owner);
  assert.equal(found.length, 1);
  assert.equal(found[0].firingAlerts, 6, 'three of each source');
  const incident = await detail(owner, found[0].id);
  assert.equal(
    incident.alerts.reduce((sum: number, a: { deliveries: number }) => sum + a.deliveries, 0),
    72,
  );
  await eventually(async () => smtp.received.length >= 1);
  await eventually(async () => (await detail(owner, found[0].id)).pages.every((p: { state: string }) => p.state === 'sent'));
  assert.equal(smtp.received.length, 1);

  // Ends and beginnings mixed at once: nothing is left half.
  const ends = group([alert('a', { status: 'resolved' }), alert('b', { status: 'resolved' }), alert('c', { status: 'resolved' })]);
  await Promise.all([
    one.deliver(ends),
    caller(second.url, other.token).post(`/oncall/alert-sources/${other.id}/alerts`, ends),
    one.deliver(ends),
  ]);
  assert.deepEqual(await unresolved(owner), []);
});

test('an alert never lands on an incident that is resolved at the same moment', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const its = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver } = await source(owner, qd.url, its.service.id);
  for (let i = 0; i < 15; i++) {
    const { body: incident } = await owner.post('/oncall/incidents', { serviceId: its.service.id, title: `round ${i}` });
    const [resolved, delivered] = await Promise.all([
      owner.post(`/oncall/incidents/${incident.id}/resolve`),
      deliver(group([alert(`f${i}`)])),
    ]);
    assert.deepEqual([resolved.status, delivered.status], [200, 200]);
    const before = await detail(owner, incident.id);
    const after = await unresolved(owner);
    const landed = before.alerts.length === 1 || after.length === 1;
    assert.ok(landed, 'the alert is somewhere');
    if (before.alerts.length === 1) assert.ok(before.alerts[0].firstReceivedAt <= before.resolvedAt, 'attached before it was resolved');
    for (const left of after) await made(owner.post(`/oncall/incidents/${left.id}/resolve`));
  }
});
