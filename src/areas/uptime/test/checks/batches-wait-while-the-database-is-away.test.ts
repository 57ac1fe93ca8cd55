import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { takeDatabase } from '../../../oncall/test/support.ts';
import { eventually, history, stateOf, transitionsOf, watched } from '../support.ts';

test('batches are refused while the database is away, arrive later, and the silence takes nothing down', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, clock } = qd;
  const { agents, monitor } = await watched(qd, ['tokyo', 'paris', 'lima']);
  const [tokyo, paris, lima] = agents as [(typeof agents)[0], (typeof agents)[0], (typeof agents)[0]];
  for (const each of agents) await each.pass(monitor);
  await tokyo.fail(monitor);
  await tokyo.fail(monitor);
  assert.equal(await stateOf(owner, monitor), 'up', 'one of three fails, as it does for a while');
  const before = await transitionsOf(owner, monitor);

  const giveBack = await takeDatabase(qd);
  for (const each of agents) {
    const { status, body } = await each.send([{ monitor: monitor.id, outcome: 'error' }], { seq: each.seq + 1 });
    assert.equal(status, 503);
    assert.match(body.error!, /keep the results and try again/);
  }
  await giveBack();
  await eventually(async () => (await tokyo.assignments()).status === 200, { everyMs: 50 });
  await clock.advance('12m');

  // The one that fails is the first to be heard again. It is not alone: the others have only not had their turn.
  const late = (n: number) =>
    Array.from({ length: n }, (_, i) => ({ monitor: monitor.id, outcome: 'error' as const, ageMs: (11 - i) * 60_000 }));
  await tokyo.report(...late(9), { monitor: monitor.id, outcome: 'error', ageMs: 20_000 });
  await tokyo.fail(monitor);
  assert.equal(await stateOf(owner, monitor), 'up');
  await paris.report(...late(9).map((r) => ({ ...r, outcome: 'pass' as const })), { monitor: monitor.id });
  await lima.report(...late(9).map((r) => ({ ...r, outcome: 'pass' as const })), { monitor: monitor.id });
  await clock.advance('90s');
  await tokyo.fail(monitor);
  assert.deepEqual(await transitionsOf(owner, monitor), before, 'no false transition');
  assert.equal((await history(qd, monitor)).results, 3 + 2 + 11 + 10 + 10 + 1);
});
