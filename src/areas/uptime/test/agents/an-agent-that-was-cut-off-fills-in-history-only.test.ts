import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { failuresOf, history, made, stateOf, transitionsOf, watched } from '../support.ts';

test('an agent that was offline for an hour delivers what it saw: history is filled, no state changes', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, clock } = qd;
  const { id: serviceId } = await made(owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor } = await watched(qd, ['tokyo', 'paris', 'lima'], { serviceId, intervalSeconds: 300 });
  const [tokyo, paris, lima] = agents as [(typeof agents)[0], (typeof agents)[0], (typeof agents)[0]];
  for (const each of agents) await each.pass(monitor);
  // Tokyo is cut off and sees everything fail; the others go on.
  for (let i = 0; i < 6; i++) {
    await clock.advance('10m');
    await paris.pass(monitor);
    await lima.pass(monitor);
  }
  const before = await transitionsOf(owner, monitor);
  const known = (await history(qd, monitor)).results;

  // Replayed in batches, oldest first, and the newest batch first for good measure.
  const replayed = Array.from({ length: 49 }, (_, i) => ({ monitor: monitor.id, outcome: 'error' as const, ageMs: (60 - i) * 60_000 }));
  await tokyo.report(...replayed.slice(40));
  await tokyo.report(...replayed.slice(0, 20));
  await tokyo.report(...replayed.slice(20, 40));
  assert.equal((await history(qd, monitor)).results, known + 49, 'nothing is lost');
  assert.deepEqual(await transitionsOf(owner, monitor), before);
  assert.deepEqual(await failuresOf(owner, monitor), []);
  assert.equal(await stateOf(owner, monitor), 'up');

  // What it sees now counts from the first failure on, as if it had not been away.
  await tokyo.fail(monitor);
  assert.deepEqual(
    (await failuresOf(owner, monitor)).map((f) => f.attempt),
    [1],
  );
  await paris.fail(monitor);
  await tokyo.fail(monitor);
  assert.equal(await stateOf(owner, monitor), 'up');
  await paris.fail(monitor);
  assert.equal(await stateOf(owner, monitor), 'down');
});

test('a prober that takes itself for the culprit, and checks that were missed, say nothing about a monitor', async (t) => {
  const qd = await quarterdeck(t);
  const { agents, monitor } = await watched(qd, ['tokyo']);
  const tokyo = agents[0]!;
  await tokyo.pass(monitor);
  for (let i = 0; i < 3; i++) assert.equal((await tokyo.send([{ monitor: monitor.id, outcome: 'error' }], { degraded: true })).status, 200);
  for (let i = 0; i < 3; i++) await tokyo.report({ monitor: monitor.id, outcome: 'missed' });
  assert.equal(await stateOf(qd.owner, monitor), 'up');
  assert.deepEqual(await failuresOf(qd.owner, monitor), []);
  assert.deepEqual(await history(qd, monitor), { results: 7, rolled: 7, missed: 3, excluded: 3 });
});
