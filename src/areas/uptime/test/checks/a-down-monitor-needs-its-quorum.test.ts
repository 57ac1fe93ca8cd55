import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { failuresOf, history, made, stateOf, transitionsOf, watched } from '../support.ts';

interface Seen {
  vantage: string;
  verdict: string;
  failingSince?: string;
  checkedAt?: string;
  latencyMs?: number;
}

const vantageStates = async (by: Caller, { id }: { id: string }): Promise<Seen[]> =>
  (await made(by.get(`/uptime/monitors/${id}`))).vantageStates;

test('a monitor goes down when as many vantages as it asks for have confirmed it, and up the same way', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const { agents, monitor } = await watched(qd, ['tokyo', 'paris', 'lima']);
  const [tokyo, paris, lima] = agents as [(typeof agents)[0], (typeof agents)[0], (typeof agents)[0]];
  assert.equal(await stateOf(owner, monitor), 'pending');

  await tokyo.pass(monitor);
  assert.equal(await stateOf(owner, monitor), 'pending', 'two others have not had their turn');
  assert.deepEqual(
    (await vantageStates(owner, monitor)).map(({ vantage, verdict, latencyMs, checkedAt }) => [
      vantage,
      verdict,
      latencyMs,
      typeof checkedAt,
    ]),
    [
      ['tokyo', 'passing', 12, 'string'],
      ['paris', 'unknown', undefined, 'undefined'],
      ['lima', 'unknown', undefined, 'undefined'],
    ],
  );
  await paris.pass(monitor);
  assert.equal(await stateOf(owner, monitor), 'up', 'whatever the third says, it is no quorum');

  await tokyo.fail(monitor);
  await tokyo.fail(monitor);
  await tokyo.fail(monitor);
  assert.equal(await stateOf(owner, monitor), 'up', 'one vantage alone takes nothing down');
  await paris.fail(monitor);
  assert.equal(await stateOf(owner, monitor), 'up', 'one failure is not confirmed');
  await lima.pass(monitor);
  await paris.fail(monitor);
  assert.equal(await stateOf(owner, monitor), 'down');
  assert.deepEqual(
    (await vantageStates(owner, monitor)).map(({ verdict, latencyMs, failingSince }) => [verdict, latencyMs, typeof failingSince]),
    [
      ['failing', 30, 'string'],
      ['failing', 30, 'string'],
      ['passing', 12, 'undefined'],
    ],
  );
  assert.equal('vantageStates' in (await made(owner.get('/uptime/monitors'))).monitors[0], false, 'a list leaves it out');
  assert.deepEqual(
    (await failuresOf(owner, monitor)).map((f) => [f.vantage, f.attempt]),
    [
      ['paris', 2],
      ['paris', 1],
      ['tokyo', 3],
      ['tokyo', 2],
      ['tokyo', 1],
    ],
  );

  await paris.pass(monitor);
  assert.equal(await stateOf(owner, monitor), 'down', 'recovery is confirmed as well');
  await paris.fail(monitor);
  await paris.pass(monitor);
  assert.equal(await stateOf(owner, monitor), 'down', 'a failure in between starts the confirmation over');
  await paris.pass(monitor);
  assert.equal(await stateOf(owner, monitor), 'up');

  const transitions = await transitionsOf(owner, monitor);
  assert.deepEqual(
    transitions.map(({ from, to, failingVantages }) => ({ from, to, failingVantages: failingVantages.toSorted() })),
    [
      { from: 'pending', to: 'up', failingVantages: [] },
      { from: 'up', to: 'down', failingVantages: ['paris', 'tokyo'] },
      { from: 'down', to: 'up', failingVantages: [] },
    ],
  );
  const { results, rolled } = await history(qd, monitor);
  assert.equal(results, 12);
  assert.equal(rolled, 12);
});
