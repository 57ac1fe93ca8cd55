import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { row } from '../../../../kernel/db/index.ts';
import { slicesOf } from '../../rules/maintenance.ts';
import { eventually, made, watched } from '../support.ts';

test('checks made in a window count again once it is called off; those in another window, and of a prober at fault, do not', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api,worker' } });
  const { owner, clock, app } = qd;
  const { id: serviceId } = await made(owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor: its } = await watched(qd, ['tokyo'], { serviceId });
  const [tokyo] = agents as [(typeof agents)[0]];
  const metrics = async (window: string) => {
    const { series, uptimePct } = await made(owner.get(`/uptime/monitors/${its.id}/metrics?window=${window}`));
    return { points: series[0]?.points.length ?? 0, pct: uptimePct.tokyo };
  };
  const windows = ['1h', '24h', '7d'];
  const plan = async (title: string, minutes: number) =>
    (await made(owner.post('/uptime/maintenance', { serviceId, title, endsAt: new Date((await at()) + minutes * 60_000).toISOString() })))
      .id;
  const at = async () =>
    Date.parse((await app.db.read((tx) => row(tx, Type.Object({ now: Type.String() }))`select kernel.now() as now`))!.now);

  await tokyo.pass(its);
  await clock.advance('10m');
  await tokyo.pass(its);
  const wrong = await plan('a mistake', 60);
  await clock.advance('1m');
  await tokyo.fail(its); // counts again: it was no maintenance
  await clock.advance('1m');
  assert.equal((await tokyo.send([{ monitor: its.id, outcome: 'error' }], { degraded: true })).status, 200);
  const right = await plan('planned work', 10);
  await clock.advance('5m');
  await tokyo.fail(its); // in both
  await clock.advance('15m');
  await tokyo.pass(its); // in the first alone again
  for (const window of windows) assert.equal((await metrics(window)).pct, 100, window);

  assert.equal((await owner.delete(`/uptime/maintenance/${wrong}`)).status, 204);
  for (const window of windows) {
    // Two before, the failure and the pass in the window that was none: three of four.
    await eventually(async () => (await metrics(window)).pct === 75);
  }
  assert.equal((await metrics('1h')).points, 4);
  assert.equal((await owner.delete(`/uptime/maintenance/${right}`)).status, 204);
  for (const window of windows) await eventually(async () => (await metrics(window)).pct === 60);

  const Sums = Type.Object({ n: Type.Integer(), ok: Type.Integer(), excluded: Type.Integer() });
  const sums = await app.db.read(
    (tx) => row(tx, Sums)`
    select sum(n)::int as n, sum(ok)::int as ok, sum(excluded)::int as excluded from uptime.check_rollup`,
  );
  assert.deepEqual(sums, { n: 5, ok: 3, excluded: 1 }, 'the one of the prober at fault stays out');
});

test('one that has not begun has nothing to give back, and a long one is given back in pieces that anybody can still see', async (t) => {
  const { owner, app } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const { id: serviceId } = await made(owner.post('/uptime/services', { name: 'shop' }));
  const ahead = { startsAt: new Date(Date.now() + 3_600_000).toISOString(), endsAt: new Date(Date.now() + 7_200_000).toISOString() };
  const { id } = await made(owner.post('/uptime/maintenance', { serviceId, title: 'later', ...ahead }));
  assert.equal((await owner.delete(`/uptime/maintenance/${id}`)).status, 204);
  const Jobs = Type.Object({ n: Type.Integer() });
  const jobs = await app.db.read((tx) => row(tx, Jobs)`select count(*)::int as n from kernel.job where kind = 'uptime.give-back'`);
  assert.equal(jobs!.n, 0);

  const now = '2026-11-15T12:00:00.000Z';
  const month = slicesOf({ startsAt: '2026-10-20T00:00:00.000Z', endsAt: '2026-11-18T00:00:00.000Z', now });
  assert.equal(month.length, 29);
  assert.deepEqual([month[0]![0], month.at(-1)![1]], ['2026-11-08T10:00:00.000Z', now]);
  for (const [i, [from]] of month.entries()) if (i > 0) assert.equal(from, month[i - 1]![1]);
  assert.deepEqual(slicesOf({ startsAt: now, endsAt: '2026-11-18T00:00:00.000Z', now }), []);
});
