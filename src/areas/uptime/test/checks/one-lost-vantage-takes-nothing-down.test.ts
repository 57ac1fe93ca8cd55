import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { made, stateOf, transitionsOf, untilTold, watched } from '../support.ts';

test('a vantage that falls silent takes nothing down and keeps nothing up', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, clock } = qd;
  const { agents, monitor } = await watched(qd, ['tokyo', 'paris', 'lima']);
  const [tokyo, paris, lima] = agents as [(typeof agents)[0], (typeof agents)[0], (typeof agents)[0]];
  for (const each of agents) await each.pass(monitor);
  const before = await transitionsOf(owner, monitor);
  await tokyo.fail(monitor);
  await tokyo.fail(monitor);
  // Lima is lost; tokyo goes on failing, paris passing.
  for (let i = 0; i < 8; i++) {
    await clock.advance('2m');
    await tokyo.fail(monitor);
    await paris.pass(monitor);
  }
  assert.deepEqual(await transitionsOf(owner, monitor), before);
  // Of the two that are left both are needed.
  await paris.fail(monitor);
  await paris.fail(monitor);
  assert.equal(await stateOf(owner, monitor), 'down');
  await clock.advance('1h');
  await paris.pass(monitor);
  assert.equal(await stateOf(owner, monitor), 'down');
  await paris.pass(monitor);
  assert.equal(await stateOf(owner, monitor), 'down', 'for an interval the others may still speak');
  await clock.advance('80s');
  await paris.pass(monitor);
  assert.equal(await stateOf(owner, monitor), 'up', 'alone, it decides');
  // Back after a day, with what it thought before long outlived.
  await clock.advance('1d');
  await lima.pass(monitor);
  assert.equal(await stateOf(owner, monitor), 'up');
});

test('vantages that report the same outage at the same moment fire one alert', async (t) => {
  const qd = await quarterdeck(t);
  const beside = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const { owner } = qd;
  const { id: serviceId } = await made(owner.post('/uptime/services', { name: 'shop' }));
  const vantages = ['tokyo', 'paris', 'lima', 'oslo', 'cairo'];
  const { agents, monitor } = await watched(qd, vantages, { serviceId, downCondition: { confirmations: 2, quorum: 2 } });
  const others = await Promise.all(Array.from({ length: 3 }, (_, i) => watched(qd, [`v${i}`], { serviceId })));
  for (let round = 1; round <= 2; round++) {
    const both = (i: number) => (i % 2 ? beside.url : qd.url);
    const failing = () =>
      Promise.all([
        ...agents.map((each, i) => each.send([{ monitor: monitor.id, outcome: 'error' }], { to: both(i) })),
        ...others.map((o, i) => o.agents[0]!.send([{ monitor: o.monitor.id, outcome: 'error' }], { to: both(i) })),
      ]);
    for (const { status, body } of [...(await failing()), ...(await failing())]) assert.equal(status, 200, JSON.stringify(body));
    assert.equal(await stateOf(owner, monitor), 'down');
    await untilTold(qd);
    const { incidents } = await made(owner.get('/oncall/incidents?status=open'));
    assert.equal(incidents.length, 1, 'one incident of the service for everything that failed together');
    assert.equal(incidents[0].firingAlerts, 1 + others.length);
    const { transitions } = await made(owner.get(`/uptime/monitors/${monitor.id}/transitions`));
    assert.equal(transitions.filter((x: { to: string }) => x.to === 'down').length, round);
    for (let i = 0; i < 2; i++)
      await Promise.all([...agents.map((each) => each.pass(monitor)), ...others.map((o) => o.agents[0]!.pass(o.monitor))]);
    await untilTold(qd);
    assert.deepEqual((await made(owner.get('/oncall/incidents?status=open'))).incidents, []);
  }
});
