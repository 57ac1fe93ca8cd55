import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { now } from '../../../../kernel/time.ts';
import { allTransitions, made, stateOf, untilTold, watched } from '../support.ts';

test('a monitor that goes down because its condition was changed is down since then', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, clock } = qd;
  const { id: serviceId } = await made(owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor } = await watched(qd, ['tokyo', 'paris', 'lima'], { serviceId });
  const [tokyo, paris, lima] = agents as [(typeof agents)[0], (typeof agents)[0], (typeof agents)[0]];
  for (let i = 0; i < 4; i++) {
    await tokyo.fail(monitor);
    await paris.pass(monitor);
    await lima.pass(monitor);
    await clock.advance('2m');
  }
  assert.equal(await stateOf(owner, monitor), 'up', 'one of three has seen it fail for minutes');

  const edited = await qd.app.db.read(now);
  await made(owner.patch(`/uptime/monitors/${monitor.id}`, { downCondition: { confirmations: 2, quorum: 1 } }));
  assert.equal(await stateOf(owner, monitor), 'down');
  const down = (await allTransitions(qd, monitor)).at(-1)!;
  assert.ok(down.since >= edited, `down since ${down.since}, edited at ${edited}`);
  await untilTold(qd);
  const [incident] = (await made(owner.get('/oncall/incidents?status=open'))).incidents;
  const [alert] = (await made(owner.get(`/oncall/incidents/${incident.id}`))).alerts;
  assert.equal(alert.startsAt, down.since);
});
