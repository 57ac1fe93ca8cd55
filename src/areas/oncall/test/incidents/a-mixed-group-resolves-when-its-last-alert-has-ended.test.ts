import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alert, covered, detail, group, mails, once, source, unresolved, user, ward } from '../support.ts';

test('a group is taken apart: its incident resolves when the last alert has ended, whatever the group says', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver, id: sourceId } = await source(owner, qd.url, service.id);

  const first = await deliver(group([alert('a'), alert('b')]));
  assert.deepEqual([first.status, first.body], [200, { accepted: 2, firing: 2, resolved: 0 }]);
  const [incident] = await unresolved(owner);
  assert.equal(incident.title, 'TargetDown (2)');
  assert.equal(incident.firingAlerts, 2);
  assert.equal(incident.serviceName, service.name);
  await mails(smtp, owner.email, 1);

  // Alertmanager repeats what it knows: nothing new happens.
  await deliver(group([alert('a'), alert('b')]));
  assert.equal((await unresolved(owner)).length, 1);

  const mixed = await deliver(group([alert('a', { status: 'resolved' }), alert('b')]));
  assert.deepEqual(mixed.body, { accepted: 2, firing: 1, resolved: 1 });
  const between = await detail(owner, incident.id);
  assert.equal(between.status, 'open');
  assert.equal(between.firingAlerts, 1);
  assert.deepEqual(
    between.alerts.map((a: { fingerprint: string; status: string; deliveries: number }) => [a.fingerprint, a.status, a.deliveries]).sort(),
    [
      ['a', 'resolved', 3],
      ['b', 'firing', 3],
    ],
  );
  assert.equal(between.alerts[0].startsAt, '2026-11-01T10:00:00.123Z');

  await deliver(group([alert('b', { status: 'resolved' })]));
  const over = await detail(owner, incident.id);
  assert.equal(over.status, 'resolved');
  assert.deepEqual(over.resolvedBy, { kind: 'auto', label: 'Quarterdeck' });
  assert.equal(over.firingAlerts, 0);
  assert.deepEqual(
    over.timeline.map((e: { kind: string }) => e.kind).filter((k: string) => !/page|step/.test(k)),
    ['opened', 'alert_firing', 'alert_firing', 'alert_resolved', 'alert_resolved', 'resolved'],
  );
  assert.equal(over.timeline[1].actor.id, sourceId);
  assert.equal(smtp.received.length, 1);
});

test('alerts attach while acknowledged and page the acknowledger; an incident opened by hand is resolved by hand', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver } = await source(owner, qd.url, service.id);
  const { body: manual } = await owner.post('/oncall/incidents', { serviceId: service.id, title: 'slow' });
  await mails(smtp, owner.email, 1);
  await owner.post(`/oncall/incidents/${manual.id}/ack`);

  await deliver(group([alert('a')]));
  const attached = await detail(owner, manual.id);
  assert.equal(attached.firingAlerts, 1);
  assert.equal(attached.status, 'acknowledged');
  assert.equal((await unresolved(owner)).length, 1);
  await mails(smtp, owner.email, 2);

  await deliver(group([alert('a', { status: 'resolved' })]));
  const quiet = await detail(owner, manual.id);
  assert.deepEqual([quiet.status, quiet.firingAlerts], ['acknowledged', 0], 'somebody opened it, so somebody says that it is over');
  assert.match(quiet.timeline.at(-1).message, /^Every alert has ended; the incident was opened by hand/);
  await owner.post(`/oncall/incidents/${manual.id}/resolve`);
  assert.equal(smtp.received.length, 2);

  const alone = (await owner.post('/oncall/incidents', { serviceId: service.id, title: 'alone' })).body;
  assert.equal((await deliver(group([alert('z', { status: 'resolved' })]))).status, 200, 'an end without a beginning opens nothing');
  assert.equal((await detail(owner, alone.id)).status, 'open');
  assert.equal((await detail(owner, alone.id)).alerts.length, 0);
});

test('a truncated group is said to be one', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver } = await source(owner, qd.url, service.id);
  await deliver(group([alert('a')], { truncatedAlerts: 7, status: 'resolved' }));
  const [incident] = await unresolved(owner);
  const found = await once(owner, incident.id, (i) => i.timeline.length > 2);
  assert.match(found.timeline.find((e: { kind: string }) => e.kind === 'payload_truncated').message, /^7 alerts/);
});
