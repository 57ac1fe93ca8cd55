import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { stateOf, transitionsOf, watched } from '../support.ts';

test('a clock that is set forward or back makes no outage, and none is missed for long', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, clock } = qd;
  const { agents, monitor } = await watched(qd, ['tokyo', 'paris', 'lima']);
  const [tokyo, paris, lima] = agents as [(typeof agents)[0], (typeof agents)[0], (typeof agents)[0]];
  const quiet = async () => {
    await tokyo.fail(monitor);
    await tokyo.fail(monitor);
    await paris.pass(monitor);
    await lima.pass(monitor);
  };
  await quiet();
  assert.equal(await stateOf(owner, monitor), 'up');
  const before = await transitionsOf(owner, monitor);

  for (const jump of ['1h', '-1h', '20d', '-21d', '3m', '-2m', '-5s']) {
    await clock.advance(jump);
    await tokyo.fail(monitor);
    assert.equal(await stateOf(owner, monitor), 'up', `after ${jump}, the first to speak decides alone`);
    await quiet();
    await clock.advance('80s');
    await quiet();
    assert.deepEqual(await transitionsOf(owner, monitor), before, jump);
  }

  // And after all of that an outage is one.
  await clock.advance('-2h');
  for (let i = 0; i < 2; i++) for (const each of [paris, lima]) await each.fail(monitor);
  assert.equal(await stateOf(owner, monitor), 'down');
  await clock.advance('1h');
  for (let i = 0; i < 2; i++) for (const each of agents) await each.pass(monitor);
  assert.equal(await stateOf(owner, monitor), 'up');
});
