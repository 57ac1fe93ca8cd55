import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alertsPerSlice, validateAlerts } from '../../engine/validate-delivery.ts';
import { maxEntries } from '../../rules/validate-alert.ts';
import { alert, covered, detail, made, source, unresolved, user, ward } from '../support.ts';

const bad: [unknown, RegExp][] = [
  [7, /^alerts\.1 must be an object/],
  [{ annotations: {} }, /^alerts\.1\.labels is required/],
  [{ labels: { a: 1 } }, /^alerts\.1\.labels\.a must be a string/],
  [{ labels: { a: 'nul \0' } }, /^alerts\.1\.labels\.a must not contain the NUL/],
  [{ labels: Object.fromEntries(Array.from({ length: maxEntries + 1 }, (_, i) => [`l${i}`, 'x'])) }, /at most 100 entries/],
];

test('the valid alerts of a delivery are stored; invalid ones are reported in the answer, at the source and in the incident', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver, direct, id } = await source(owner, qd.url, service.id);
  const seen = async () => (await made(owner.get('/oncall/alert-sources'))).sources.find((s: { id: string }) => s.id === id).lastProblem;
  assert.equal(await seen(), undefined);

  for (const [one, sentence] of bad) {
    const answer = await deliver({ alerts: [alert('a'), one, alert('b')] });
    assert.equal(answer.status, 200);
    assert.deepEqual([answer.body.accepted, answer.body.rejected], [2, 1]);
    assert.match(answer.body.problems[0], sentence);
    assert.match((await seen()).message, sentence);
  }
  const [incident] = await unresolved(owner);
  assert.equal(incident.firingAlerts, 2);
  const more = await deliver({ alerts: [{ labels: {}, status: 'firing', fingerprint: 'new' }, 7] });
  assert.equal(more.status, 200);
  const told = (await detail(owner, incident.id)).timeline.find((e: { kind: string }) => e.kind === 'alert_rejected');
  assert.match(told.message, /could not be taken in: alerts\.1 must be an object/);

  const none = await direct([7, 8]);
  assert.equal(none.status, 400);
  assert.match(none.body.error, /^0 must be an object/);
  assert.deepEqual([(await seen()).rejected, (await seen()).message], [2, '0 must be an object']);
});

test('an invalid alert beside one that keeps firing is reported in its incident once an hour', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver } = await source(owner, qd.url, service.id);
  await deliver({ alerts: [alert('a')] });
  const [{ id }] = await unresolved(owner);
  const told = async () => (await detail(owner, id)).timeline.filter((e: { kind: string }) => e.kind === 'alert_rejected').length;
  assert.equal(await told(), 0);
  for (let n = 0; n < 3; n++) assert.equal((await deliver({ alerts: [alert('a'), { labels: { b: n } }] })).status, 200);
  assert.equal(await told(), 1);
  await qd.clock.advance('61m');
  await deliver({ alerts: [alert('a'), 7] });
  assert.equal(await told(), 2);
});

test('long or odd annotations are truncated or dropped, and the alert is stored', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver } = await source(owner, qd.url, service.id);
  const odd = { labels: { alertname: 'x' }, annotations: { long: 'y'.repeat(100_000), n: 7, nul: '\0' }, startsAt: 9, status: ['?'] };
  assert.equal((await deliver({ alerts: [odd], commonAnnotations: 5, truncatedAlerts: 'many' })).status, 200);
  const [incident] = await unresolved(owner);
  const [found] = (await detail(owner, incident.id)).alerts;
  assert.deepEqual(Object.keys(found.annotations).sort(), ['long', 'nul']);
  assert.ok(found.annotations.long.length < 5_000);
});

test('very many alerts are validated in slices, with yields in between', async () => {
  const huge = Array.from({ length: 300_000 }, (_, i) => ({ labels: { i: String(i) } }));
  let turns = 0;
  let over = false;
  const others = () => {
    turns++;
    if (!over) setImmediate(others);
  };
  setImmediate(others);
  const judged = await validateAlerts(huge, 'alerts');
  over = true;
  assert.deepEqual([judged.alerts.length, judged.omitted], [10_000, 290_000]);
  assert.ok(turns >= 10_000 / alertsPerSlice, `${turns} turns`);

  const one = await validateAlerts(
    Array.from({ length: 5_000 }, (_, i) => ({ labels: {}, startsAt: new Date(i).toISOString() })),
    'alerts',
  );
  assert.deepEqual([one.alerts.length, one.rejected, one.problems.length], [100, 4_900, 10], 'a group has each alert once');
});
