import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { row, run } from '../../../../kernel/db/index.ts';
import { readyCluster, untilReady } from '../support.ts';

const Count = Type.Object({ n: Type.Integer() });

test('a cluster tells each phase that it went through, the newest 200, until it is gone', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const historyOf = async () => (await owner.get('/clusters/dev/history')).body;
  await readyCluster(owner, { name: 'dev' });
  assert.equal((await owner.patch('/clusters/dev', { replicas: 2 })).status, 200);
  await untilReady(owner, 'dev');
  const { phases, months, minutes } = await historyOf();
  assert.deepEqual(
    phases.map(({ phase }: { phase: string }) => phase),
    ['pending', 'provisioning', 'ready', 'updating', 'ready'],
  );
  const times = phases.map(({ at }: { at: string }) => at);
  assert.deepEqual(times, times.toSorted(), 'oldest first');
  assert.match(phases[3].what, /replicas/);
  assert.equal(phases[4].what, undefined);
  assert.ok(Array.isArray(months) && Array.isArray(minutes));

  // A month and a minute, as the meter writes them.
  await qd.app.db.write(async (tx) => {
    await run(tx)`
      insert into clusters.meter (org_id, cluster_id, month, plane_seconds, node_seconds, requests, errors, inflight_peak)
      select org_id, id, '2026-01-01', 7200, 3600, 10, 1, 4 from clusters.cluster where name = 'dev'`;
    await run(tx)`
      insert into clusters.sample (org_id, cluster_id, at, nodes, ready, inflight, objects, bytes, components)
      select org_id, id, kernel.now() - interval '2 minutes', 3, 2, 5, 7, 4096, '[{"name":"etcd","cpuMilli":20,"memoryBytes":1000},{"name":"api","cpuMilli":30,"memoryBytes":2000}]'
        from clusters.cluster where name = 'dev'`;
  });
  const counted = await historyOf();
  assert.deepEqual(counted.months.at(-1), { month: '2026-01', hours: 2, nodeHours: 1, requests: 10, errors5xx: 1, inflightPeak: 4 });
  const { at: _, ...minute } = counted.minutes[0];
  assert.deepEqual(minute, { nodes: 3, inflight: 5, storedBytes: 4096, cpuMilli: 50, memoryBytes: 3000 });

  // One that flaps fills no table, and why it is degraded is kept.
  await qd.app.db.write(async (tx) => {
    for (let time = 0; time < 110; time++) {
      await run(
        tx,
      )`update clusters.cluster set phase = 'degraded', phase_at = kernel.now(), reason = 'the port is taken' where name = 'dev'`;
      await run(tx)`update clusters.cluster set phase = 'ready', phase_at = kernel.now(), reason = null where name = 'dev'`;
    }
  });
  const many = (await historyOf()).phases;
  assert.equal(many.length, 200);
  assert.deepEqual([many.at(-2).phase, many.at(-2).reason, many.at(-1).phase], ['degraded', 'the port is taken', 'ready']);

  assert.equal((await owner.delete('/clusters/dev')).status, 202);
  await eventually(async () => (await owner.get('/clusters/dev')).status === 404);
  assert.equal((await historyOf()).error === undefined, false);
  const left = await qd.app.db.read((tx) => row(tx, Count)`select count(*)::int as n from clusters.phase where org_id = ${owner.orgId}`);
  assert.equal(left!.n, 0);
});
