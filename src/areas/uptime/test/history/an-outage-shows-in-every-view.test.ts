import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liveAvailabilityOf } from '../../index.ts';
import { desk, made, monitor } from '../agent-context.ts';
import { agent } from '../support.ts';

test('an outage shows in the state, the failures, the transitions, the metrics, the availability and the service catalog', async (t) => {
  const qd = await desk(t);
  const { owner, clock, app } = qd;
  const shop = await made(owner.post('/uptime/services', { name: 'shop' }));
  const front = await monitor(owner, { vantages: ['fra'], serviceId: shop.id });
  const fra = await agent(qd, 'fra');
  const get = (view = '') => made(owner.get(`/uptime/monitors/${front.id}${view}`));
  assert.deepEqual([(await get('/failures')).failures, (await get('/transitions')).transitions], [[], []]);

  await fra.pass(front, { latencyMs: 40 });
  await clock.advance('60s');
  await fra.report({
    monitor: front.id,
    outcome: 'fail',
    status: 503,
    latencyMs: 10,
    errorKind: 'status_mismatch',
    errorDetail: 'status 503',
    snippet: 'sorry',
  });
  assert.equal((await get()).state, 'up', 'one failure is not confirmed');
  await clock.advance('10s');
  await fra.report({ monitor: front.id, outcome: 'error', latencyMs: 30, errorKind: 'timeout', errorDetail: 'no answer' });
  const down = await get();
  assert.equal(down.state, 'down');

  const { failures } = await get('/failures');
  assert.deepEqual(
    failures.map(({ at, ...rest }: { at: string }) => rest),
    [
      { vantage: 'fra', attempt: 2, outcome: 'error', errorKind: 'timeout', errorDetail: 'no answer', responseSnippet: '' },
      { vantage: 'fra', attempt: 1, outcome: 'fail', errorKind: 'status_mismatch', errorDetail: 'status 503', responseSnippet: 'sorry' },
    ],
  );
  const { transitions } = await get('/transitions');
  assert.deepEqual(
    transitions.map(({ at, ...rest }: { at: string }) => rest),
    [
      { from: 'up', to: 'down', failingVantages: ['fra'] },
      { from: 'pending', to: 'up', failingVantages: [] },
    ],
  );
  assert.ok(transitions[0].at > transitions[1].at && transitions[0].at > failures[1].at);
  const { uptimePct, series } = await get('/metrics?window=1h');
  assert.deepEqual(uptimePct, { fra: 33.3333 });
  assert.equal(series[0].vantage, 'fra');
  assert.equal((await made(owner.get('/uptime/services'))).services[0].monitors, 1);

  await clock.advance('50s');
  const path = `/uptime/services/${shop.id}/availability`;
  const during = await made(owner.get(path));
  assert.equal(during.state, 'down');
  const total = (days: { downSeconds: number }[]) => days.reduce((sum, d) => sum + d.downSeconds, 0);
  // Dated back to the first failure: 10 s before the confirmation, 50 s since.
  assert.ok(total(during.days) >= 60 && total(during.days) <= 75, JSON.stringify(during.days));
  const observed = await app.db.read((tx) => liveAvailabilityOf(tx, owner.orgId, [shop.id], 90));
  assert.equal(observed.get(shop.id)!.state, 'down');

  // A monitor that is gone leaves its history behind.
  await made(owner.delete(`/uptime/monitors/${front.id}`));
  await clock.advance('1h');
  const after = await made(owner.get(path));
  assert.equal(after.state, undefined);
  assert.ok(total(after.days) <= total(during.days) + 5);
  assert.equal((await app.db.read((tx) => liveAvailabilityOf(tx, owner.orgId, [shop.id], 90))).size, 0);
});
