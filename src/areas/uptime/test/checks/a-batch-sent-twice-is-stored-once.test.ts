import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { agent, failuresOf, history, made, monitor, register, stateOf, watched } from '../support.ts';

test('a batch that is sent again is acknowledged again and changes nothing', async (t) => {
  const qd = await quarterdeck(t);
  const { agents, monitor: its } = await watched(qd, ['tokyo']);
  const tokyo = agents[0]!;
  const failing = [{ monitor: its.id, outcome: 'fail' as const }];
  for (let i = 0; i < 3; i++) {
    const { status, body } = await tokyo.send(failing, { seq: 1 });
    assert.equal(status, 200);
    assert.deepEqual(body, { seq: 1 });
  }
  assert.deepEqual(await history(qd, its), { results: 1, rolled: 1, missed: 0, excluded: 0 });
  assert.deepEqual(
    (await failuresOf(qd.owner, its)).map((f) => f.attempt),
    [1],
  );
  assert.equal(await stateOf(qd.owner, its), 'pending', 'one failure, told three times, is not confirmed');

  // The prober's ring dropped what was oldest: numbers may be left out, and never come back.
  assert.equal((await tokyo.send(failing, { seq: 7, gzip: true })).status, 200);
  assert.equal(await stateOf(qd.owner, its), 'down');
  assert.equal((await tokyo.send([{ monitor: its.id }], { seq: 5 })).status, 200);
  assert.equal((await history(qd, its)).results, 2);
  assert.equal((await tokyo.session()).seq, 7, 'a prober that starts again goes on where it was');

  // At the same moment, as a proxy that repeats a request would: one of them is stored.
  const answers = await Promise.all(Array.from({ length: 8 }, () => tokyo.send(failing, { seq: 8 })));
  assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([200]));
  assert.equal((await history(qd, its)).results, 3);
});

test('what a batch says of monitors that are not its vantage’s is left out, and the rest is stored', async (t) => {
  const qd = await quarterdeck(t);
  const { agents, monitor: its } = await watched(qd, ['tokyo']);
  await register(qd.app, 'paris');
  const paris = await agent(qd, 'paris');
  const foreign = await monitor(qd.owner, ['paris']);
  const deleted = await monitor(qd.owner, ['tokyo']);
  await made(qd.owner.delete(`/uptime/monitors/${deleted.id}`));
  await agents[0]!.report(
    { monitor: foreign.id },
    { monitor: deleted.id },
    { monitor: 'mon_00000000000000000000000000' },
    { monitor: 'nonsense' },
    { monitor: its.id },
  );
  assert.equal((await history(qd, its)).results, 1);
  assert.equal((await history(qd, foreign)).results, 0);
  assert.equal((await history(qd, deleted)).results, 0);
  await agents[0]!.report();
  await paris.pass(foreign);
  assert.equal(await stateOf(qd.owner, foreign), 'up');
});
