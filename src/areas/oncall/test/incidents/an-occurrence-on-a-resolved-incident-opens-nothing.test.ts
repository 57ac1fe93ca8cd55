import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alert, covered, group, made, source, unresolved, user, ward } from '../support.ts';

test('what goes on firing after its incident was resolved opens nothing; a new start, or firing after an end, does', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver } = await source(owner, qd.url, service.id);
  const live = () => unresolved(owner);

  await deliver(group([alert('a')]));
  const [first] = await live();
  await made(owner.post(`/oncall/incidents/${first.id}/resolve`));
  await deliver(group([alert('a')]));
  assert.deepEqual(await live(), [], 'the occurrence that somebody resolved stays resolved');

  await deliver(group([alert('a', { startsAt: '2026-11-01T11:00:00Z' })]));
  const [second] = await live();
  assert.notEqual(second.id, first.id);

  await deliver(group([alert('a', { startsAt: '2026-11-01T11:00:00Z', status: 'resolved' })]));
  assert.deepEqual(await live(), []);
  // A restarted Prometheus gives an alert the start it had before.
  await deliver(group([alert('a', { startsAt: '2026-11-01T11:00:00Z' })]));
  const [third] = await live();
  assert.ok(third && third.id !== second.id);

  // An end that arrives late belongs to an earlier occurrence, and the one that fires goes on.
  await deliver(group([alert('a', { startsAt: '2026-11-01T10:00:00Z', status: 'resolved' })]));
  assert.equal((await live())[0]?.id, third.id);
  // One whose own end was missed is over when a later one has ended.
  await deliver(group([alert('a', { startsAt: '2026-11-01T12:00:00Z' })]));
  await deliver(group([alert('a', { startsAt: '2026-11-01T12:00:00Z', status: 'resolved' })]));
  assert.deepEqual(await live(), []);
});

test('an alert that flaps inside an open incident stays with it', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver } = await source(owner, qd.url, service.id);
  await deliver(group([alert('a'), alert('b')]));
  await deliver(group([alert('a', { status: 'resolved' }), alert('b')]));
  await deliver(group([alert('a'), alert('b')]));
  const [incident, ...others] = await unresolved(owner);
  assert.deepEqual(others, []);
  assert.equal(incident.firingAlerts, 2);
  await deliver(group([alert('b', { status: 'resolved' })]));
  await deliver(group([alert('a', { status: 'resolved' })]));
  assert.deepEqual(await unresolved(owner), []);
});
