import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { row, run } from '../../../../kernel/db/index.ts';
import { eventually, made, watched } from '../support.ts';

test('a window that is called off gives back what was stored since its prober’s own faults are known, and nothing of before', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api,worker' } });
  const { owner, clock, app } = qd;
  const { id: serviceId } = await made(owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor: its } = await watched(qd, ['tokyo'], { serviceId });
  const tokyo = agents[0]!;
  await tokyo.pass(its);
  const endsAt = new Date(Date.now() + 7_200_000).toISOString();
  const { id } = await made(owner.post('/uptime/maintenance', { serviceId, title: 'a mistake', endsAt }));
  await clock.advance('1m');
  // As the release before stored it: its prober was at fault, and the row does not say so.
  await tokyo.send([{ monitor: its.id, outcome: 'error' }], { degraded: true });
  await clock.advance('5m');
  await app.db.write(async (tx) => {
    await run(tx)`update uptime.check_result set degraded = false`;
    await run(tx)`update kernel.migration set applied_at = kernel.now() where id = 'uptime/0008_degraded_checks'`;
  });
  await clock.advance('5m');
  await tokyo.fail(its); // of this release: counts again
  assert.equal((await owner.delete(`/uptime/maintenance/${id}`)).status, 204);

  const Sums = Type.Object({ n: Type.Integer(), excluded: Type.Integer() });
  const sums = () => app.db.read((tx) => row(tx, Sums)`select sum(n)::int as n, sum(excluded)::int as excluded from uptime.check_rollup`);
  await eventually(async () => (await sums())!.n >= 2);
  const Jobs = Type.Object({ n: Type.Integer() });
  await eventually(
    async () =>
      (await app.db.read((tx) => row(tx, Jobs)`select count(*)::int as n from kernel.job where kind = 'uptime.give-back'`))!.n === 0,
  );
  assert.deepEqual(await sums(), { n: 2, excluded: 1 });
});
