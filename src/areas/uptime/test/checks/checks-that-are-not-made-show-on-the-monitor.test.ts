import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { made, watched } from '../support.ts';

test('a monitor whose checks are left out says so, by name, from where and why; its figures count them', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api,worker' } });
  const { owner, clock } = qd;
  const { agents, monitor: its } = await watched(qd, ['tokyo', 'paris']);
  const [tokyo, paris] = agents as [(typeof agents)[0], (typeof agents)[0]];
  const shown = () => made(owner.get(`/uptime/monitors/${its.id}`));
  const metrics = (window: string) => made(owner.get(`/uptime/monitors/${its.id}/metrics?window=${window}`));
  await tokyo.pass(its);
  await paris.pass(its);
  assert.equal((await shown()).conditions, undefined);
  assert.equal((await metrics('1h')).missed, undefined);

  await clock.advance('60s');
  await tokyo.report({ monitor: its.id, outcome: 'missed', errorKind: 'host_rate' }, { monitor: its.id, ageMs: 20_000 });
  await paris.report({ monitor: its.id, outcome: 'missed' }); // of an earlier release, which does not say why
  const { conditions, state } = await shown();
  assert.equal(state, 'up', 'what was not checked is no outage');
  assert.equal(conditions.length, 1);
  assert.deepEqual([conditions[0].kind, conditions[0].vantage], ['host_rate', 'tokyo']);
  assert.match(conditions[0].message, /^checks from tokyo are left out: more than 10 checks a second are due at this host and port/);
  const [listed] = (await made(owner.get('/uptime/monitors'))).monitors;
  assert.deepEqual(listed.conditions, conditions);
  for (const window of ['1h', '24h', '7d']) assert.deepEqual((await metrics(window)).missed, { tokyo: 1, paris: 1 }, window);
  assert.equal((await metrics('1h')).uptimePct.tokyo, 100, 'of those that were made');

  // It was told of what it is now, and later not any more.
  await clock.advance('60s');
  await tokyo.report({ monitor: its.id, outcome: 'missed', errorKind: 'overloaded' });
  assert.deepEqual(
    (await shown()).conditions.map((c: { kind: string }) => c.kind),
    ['overloaded'],
  );
  await clock.advance('9m');
  await tokyo.pass(its);
  assert.equal((await shown()).conditions.length, 1);
  await clock.advance('2m');
  assert.equal((await shown()).conditions, undefined);
});

test('a check that was left out lends no words to an alert', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api,worker' } });
  const { id: serviceId } = await made(qd.owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor: its } = await watched(qd, ['tokyo'], { serviceId, downCondition: { confirmations: 1, quorum: 1 } });
  await agents[0]!.pass(its);
  await qd.clock.advance('60s');
  await agents[0]!.report(
    { monitor: its.id, outcome: 'error', ageMs: 1_000 },
    { monitor: its.id, outcome: 'missed', errorKind: 'host_rate' },
  );
  const { rows } = await qd.app.db.pool.query(`select alert ->> 'summary' as summary from uptime.telling`);
  const summary = rows[0]?.summary ?? (await qd.app.db.pool.query('select title from oncall.incident')).rows[0].title;
  assert.doesNotMatch(summary, /host_rate/);
});
