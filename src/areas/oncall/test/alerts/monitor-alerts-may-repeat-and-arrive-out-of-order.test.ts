import assert from 'node:assert/strict';
import { test } from 'node:test';
import { receiveMonitorAlert } from '../../index.ts';
import { alert, covered, detail, group, made, source, unresolved, user, ward } from '../support.ts';

const [ten, eleven] = ['2026-11-01T10:00:00.123Z', '2026-11-01T11:00:00.000Z'];

async function monitored(t: Parameters<typeof ward>[0]) {
  const qd = await ward(t);
  const { owner } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const tell = (status: 'firing' | 'resolved', startsAt = ten, monitorId = 'mon_1') =>
    qd.app.db.write((tx) =>
      receiveMonitorAlert(tx, owner.orgId, {
        serviceId: service.id,
        monitorId,
        monitorName: 'checkout',
        status,
        startsAt,
        summary: 'checkout is down: connection refused',
      }),
    );
  const all = async () => [...(await unresolved(owner)), ...(await made(owner.get('/oncall/incidents?status=resolved'))).incidents];
  return { qd, owner, service, tell, all, live: () => unresolved(owner) };
}

test('the same alert delivered twice is one alert, and fires no more once it has ended', async (t) => {
  const { owner, tell, all, live } = await monitored(t);
  await tell('firing');
  await tell('firing');
  const [incident, ...others] = await live();
  assert.deepEqual(others, []);
  assert.equal(incident.firingAlerts, 1);
  await tell('resolved');
  await tell('resolved');
  const over = await detail(owner, incident.id);
  assert.equal(over.status, 'resolved');
  assert.equal(over.timeline.filter((e: { kind: string }) => e.kind === 'alert_resolved').length, 1);

  assert.equal(await tell('firing'), true, 'a beginning that was on its way for long');
  assert.deepEqual(await live(), []);
  assert.equal((await all()).length, 1);
  await tell('firing', eleven);
  assert.equal((await live()).length, 1, 'another outage is another incident');
});

test('an end that overtakes its beginning leaves nothing firing and opens no incident', async (t) => {
  const { tell, all, live } = await monitored(t);
  assert.equal(await tell('resolved'), true);
  await tell('firing');
  await tell('firing');
  assert.deepEqual(await all(), []);

  await tell('resolved', eleven);
  await tell('resolved', ten);
  await tell('firing', ten);
  await tell('firing', eleven);
  assert.deepEqual(await all(), [], 'however many were overtaken');

  await tell('firing', '2026-11-01T12:00:00.000Z');
  assert.equal((await live()).length, 1, 'what has not ended fires');
  await tell('firing', ten, 'mon_2');
  assert.equal((await live())[0].firingAlerts, 2, 'another monitor is not meant');
});

test('a beginning that comes late does not keep an incident open that others hold open', async (t) => {
  const { qd, owner, service, tell, live } = await monitored(t);
  const { deliver } = await source(owner, qd.url, service.id);
  await deliver(group([alert('a')]));
  await tell('firing');
  await tell('resolved');
  await tell('firing');
  await tell('resolved', eleven);
  await tell('firing', eleven);
  assert.equal((await live())[0].firingAlerts, 1);
  await deliver(group([alert('a', { status: 'resolved' })]));
  assert.deepEqual(await live(), []);
});
