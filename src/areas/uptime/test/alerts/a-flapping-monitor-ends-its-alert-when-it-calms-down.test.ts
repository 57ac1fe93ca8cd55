import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually, made, stateOf, transitionsOf, untilTold, watched } from '../support.ts';

test('a monitor that goes up and down all the time keeps its alert until it holds still', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, clock } = qd;
  const { id: serviceId } = await made(owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor } = await watched(qd, ['tokyo'], { serviceId, downCondition: { confirmations: 1, quorum: 1 } });
  const tokyo = agents[0]!;
  const unresolved = async () => {
    await untilTold(qd);
    return (await made(owner.get('/oncall/incidents?status=open'))).incidents.length;
  };
  const all = async () => (await unresolved()) + (await made(owner.get('/oncall/incidents?status=resolved'))).incidents.length;

  await tokyo.pass(monitor);
  for (let i = 0; i < 2; i++) {
    await tokyo.fail(monitor);
    assert.equal(await unresolved(), 1);
    await tokyo.pass(monitor);
    assert.equal(await unresolved(), 0);
  }
  await tokyo.fail(monitor);
  await tokyo.pass(monitor);
  assert.equal(await stateOf(owner, monitor), 'up');
  assert.equal(await unresolved(), 1, 'the sixth change within the hour: its end is held back');
  await tokyo.fail(monitor);
  await tokyo.pass(monitor);
  assert.equal(await all(), 3, 'and nobody is paged once more for the same flapping');
  assert.equal((await transitionsOf(owner, monitor)).length, 9, 'but every change is on record');

  await clock.advance('170s');
  await tokyo.fail(monitor);
  await tokyo.pass(monitor);
  await clock.advance('20s');
  // The job was put off by the last change; were it not, it would be due by now.
  await tokyo.pass(monitor);
  assert.equal(await unresolved(), 1);
  await clock.advance('165s');
  await eventually(async () => (await unresolved()) === 0);
  assert.equal(await all(), 3);

  await clock.advance('1h');
  await tokyo.fail(monitor);
  assert.equal(await unresolved(), 1);
  await tokyo.pass(monitor);
  assert.equal(await unresolved(), 0, 'it does not flap any more');
});

test('a monitor that stops flapping while it is down keeps its alert', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_METRICS_TOKEN: 'look' } });
  const { owner, clock } = qd;
  const { id: serviceId } = await made(owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor } = await watched(qd, ['tokyo'], { serviceId, downCondition: { confirmations: 1, quorum: 1 } });
  const tokyo = agents[0]!;
  await tokyo.pass(monitor);
  for (let i = 0; i < 3; i++) {
    await tokyo.fail(monitor);
    await tokyo.pass(monitor);
  }
  await tokyo.fail(monitor);
  await clock.advance('181s');
  const flapping = async () => /quarterdeck_uptime_flapping_monitors (\d)/.exec(await metrics(qd.url))?.[1];
  await eventually(async () => (await flapping()) === '0');
  await untilTold(qd);
  assert.equal((await made(owner.get('/oncall/incidents?status=open'))).incidents.length, 1);
});

const metrics = async (url: string) => (await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer look' } })).text();
