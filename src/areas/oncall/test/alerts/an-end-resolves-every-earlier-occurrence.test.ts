import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alert, covered, detail, group, source, unresolved, user, ward } from '../support.ts';

test('replicas that give an alert different beginnings leave none of them firing for ever', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver } = await source(owner, qd.url, service.id);
  await deliver(group([alert('a', { startsAt: '2026-11-01T10:00:05Z' })]));
  await deliver(group([alert('a', { startsAt: '2026-11-01T10:00:00Z' })]));
  const [{ id, firingAlerts }] = await unresolved(owner);
  assert.equal(firingAlerts, 1);

  // The replica that evaluated first says that it is over.
  await deliver(group([alert('a', { status: 'resolved', startsAt: '2026-11-01T10:00:00Z', endsAt: '2026-11-01T10:05:00Z' })]));
  const over = await detail(owner, id);
  assert.equal(over.status, 'resolved');
  assert.deepEqual(
    over.alerts.map((a: { status: string }) => a.status),
    ['resolved', 'resolved'],
  );

  // One that began after that end goes on.
  await deliver(group([alert('a', { startsAt: '2026-11-01T10:06:00Z' })]));
  await deliver(group([alert('a', { status: 'resolved', startsAt: '2026-11-01T10:00:05Z', endsAt: '2026-11-01T10:05:00Z' })]));
  assert.equal((await unresolved(owner)).length, 1);
});

test('a beginning and its end in one delivery, under two beginnings, open nothing', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver } = await source(owner, qd.url, service.id);
  const end = alert('a', { status: 'resolved', startsAt: '2026-11-01T10:00:00Z', endsAt: '2026-11-01T10:05:00Z' });
  await deliver(group([alert('a', { startsAt: '2026-11-01T10:00:05Z' }), end]));
  assert.deepEqual(await unresolved(owner), []);
});
