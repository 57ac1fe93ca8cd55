import assert from 'node:assert/strict';
import { test } from 'node:test';
import { now } from '../../../../kernel/time.ts';
import { covered, detail, once, source, unresolved, user, type Ward, ward } from '../support.ts';

const labels = { alertname: 'TargetDown', instance: '127.0.0.1:9100', job: 'node' };
const later = async (qd: Ward, seconds: number) => new Date(Date.parse(await qd.app.db.read(now)) + seconds * 1000).toISOString();

test('Prometheus without an Alertmanager renews its alerts, ends them, and is said to be silent when it is', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const its = await covered(owner, { steps: [[user(owner), 3600]] });
  const { direct } = await source(owner, qd.url, its.service.id);
  const startsAt = await later(qd, -30);
  const fire = async () =>
    direct([
      { labels, annotations: { summary: 'node down' }, startsAt, endsAt: await later(qd, 240), generatorURL: 'http://vm:9090/graph' },
    ]);

  assert.deepEqual((await fire()).body, { accepted: 1, firing: 1, resolved: 0 });
  const [incident] = await unresolved(owner);
  assert.equal(incident.title, 'node down');
  // The order of the labels does not make another alert.
  const shuffled = Object.fromEntries(Object.entries(labels).reverse());
  await direct([{ labels: shuffled, startsAt, endsAt: await later(qd, 240) }]);
  const known = await detail(owner, incident.id);
  assert.equal(known.alerts.length, 1);
  assert.match(known.alerts[0].fingerprint, /^[0-9a-f]{16}$/);

  await qd.clock.advance('2m');
  await fire();
  await qd.clock.advance('3m');
  const stale = async () => (await detail(owner, incident.id)).timeline.filter((e: { kind: string }) => e.kind === 'alert_stale').length;
  assert.equal(await stale(), 0, 'renewed in time');
  await qd.clock.advance('2m');
  await once(owner, incident.id, (i) => i.timeline.some((e: { kind: string }) => e.kind === 'alert_stale'));
  const silent = await detail(owner, incident.id);
  assert.equal(silent.status, 'open', 'silence is no end');
  assert.equal(silent.firingAlerts, 1);

  await fire();
  const ended = await direct([{ labels, startsAt, endsAt: await later(qd, 0) }]);
  assert.deepEqual(ended.body, { accepted: 1, firing: 0, resolved: 1 });
  assert.equal((await detail(owner, incident.id)).status, 'resolved');
});
