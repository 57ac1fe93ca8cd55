import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { now } from '../../../../kernel/time.ts';
import { allTransitions, failuresOf, made, stateOf, watched } from '../support.ts';

test('after hours without checks, one failure takes nothing down, and those hours are no outage', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, clock } = qd;
  const { agents, monitor } = await watched(qd, ['tokyo']);
  const tokyo = agents[0]!;
  await tokyo.pass(monitor);
  await tokyo.fail(monitor);
  await clock.advance('6h');
  const back = await qd.app.db.read(now);
  await tokyo.fail(monitor);
  assert.equal(await stateOf(owner, monitor), 'up', 'it is the first one in a row');
  await tokyo.fail(monitor);
  assert.equal(await stateOf(owner, monitor), 'down');
  const down = (await allTransitions(qd, monitor)).at(-1)!;
  assert.ok(down.since >= back, `down since ${down.since}, looked at again since ${back}`);
  assert.deepEqual(
    (await failuresOf(owner, monitor)).map((f) => f.attempt),
    [2, 1, 1],
  );

  // Nor does a pass from before help it up again, or an edit that makes do with fewer.
  await tokyo.pass(monitor);
  await clock.advance('6h');
  await tokyo.pass(monitor);
  assert.equal(await stateOf(owner, monitor), 'down');
  await clock.advance('6h');
  await made(owner.patch(`/uptime/monitors/${monitor.id}`, { downCondition: { confirmations: 1, quorum: 1 } }));
  assert.equal(await stateOf(owner, monitor), 'down');
});

test('what one vantage had confirmed before the silence is dated from its end, should it become an outage', async (t) => {
  const qd = await quarterdeck(t);
  const { agents, monitor } = await watched(qd, ['tokyo', 'paris']);
  const [tokyo, paris] = agents as [(typeof agents)[0], (typeof agents)[0]];
  await tokyo.fail(monitor);
  await tokyo.fail(monitor);
  await paris.pass(monitor);
  assert.equal(await stateOf(qd.owner, monitor), 'up');
  await qd.clock.advance('6h');
  const back = await qd.app.db.read(now);
  // Paris never comes back, and tokyo alone is left to decide.
  await tokyo.fail(monitor);
  assert.equal(await stateOf(qd.owner, monitor), 'up');
  await qd.clock.advance('80s');
  await tokyo.fail(monitor);
  assert.equal(await stateOf(qd.owner, monitor), 'down');
  assert.ok((await allTransitions(qd, monitor)).at(-1)!.since >= back);
});
