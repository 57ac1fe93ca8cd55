import assert from 'node:assert/strict';
import { loadavg } from 'node:os';
import { test } from 'node:test';
import { machines, untilSaid } from '../../../src/areas/clusters/test/handover/support.ts';
import { askOften, maps } from '../../../src/areas/clusters/test/process/request-loop.ts';
import { watchFrom } from '../../../src/areas/clusters/test/process/support.ts';
import { adminOf, kube, untilReady } from '../../../src/areas/clusters/test/support.ts';
import { run } from '../../../src/kernel/db/index.ts';
import { eventually } from '../../harness/process.ts';
import { binaries, patience } from './kubernetes-support.ts';

const workers = 6;
const before = 400;

test('real 1.36: a planned handover fails no request; after kill -9 the next server serves the same objects before the leases lapse', {
  timeout: 900_000,
}, async (t) => {
  const qd = await machines(t, { env: { QUARTERDECK_CLUSTER_BINARIES: binaries } });
  const { owner, app } = qd;
  const first = await qd.startShard('first');
  const wanted = { name: 'prod', tier: 'small', orchestratorVersion: 'v1.36.4' };
  await eventually(async () => (await owner.post('/clusters', wanted)).status === 201, patience);
  await eventually(async () => (await owner.get('/clusters/prod')).body.phase === 'ready', patience);
  await untilReady(owner, 'prod');
  const admin = await adminOf(owner, 'prod');
  const seed = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'seed' } };
  assert.equal((await kube(admin, 'POST', maps, seed)).status, 201);
  const second = await qd.startShard('second');
  const load = () => `load ${loadavg()[0]!.toFixed(1)}`;

  const planned = askOften(admin, 'planned', workers);
  const watch = watchFrom(admin, maps);
  await eventually(async () => planned.seen.sent >= before, patience);
  const stopped = performance.now();
  assert.equal(await first.stopped(), 0);
  const tookMs = performance.now() - stopped;
  const sent = planned.seen.sent;
  await eventually(async () => planned.seen.sent >= sent + before, patience);
  await planned.stop();
  t.diagnostic(
    `planned: ${planned.seen.sent} requests, ${planned.failures.length} failed; slowest ${planned.seen.slowestMs.toFixed(0)} ms; stopped in ${(tookMs / 1000).toFixed(1)} s; ${load()}`,
  );
  assert.deepEqual(planned.failures, []);
  const listed = (await kube(admin, 'GET', maps)).body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  await eventually(async () => listed.every((name: string) => watch.names().has(name)), patience);
  watch.stop();
  assert.equal(watch.cuts(), 0);

  const third = await qd.startShard('third');
  await app.db.write((tx) => run(tx)`update clusters.cluster set lease_until = kernel.now() + interval '1 hour'`);
  const killed = askOften(admin, 'killed', workers);
  await eventually(async () => killed.seen.sent >= before, patience);
  const at = performance.now();
  await second.killed();
  await untilSaid(third, 'a server with the role shard is gone');
  await eventually(async () => (await kube(admin, 'GET', `${maps}/seed`).catch(() => undefined))?.status === 200, patience);
  const servedMs = performance.now() - at;
  const again = killed.seen.sent;
  await eventually(async () => killed.seen.sent >= again + before, patience);
  await killed.stop();
  const last = killed.failures.at(-1);
  t.diagnostic(
    `kill -9: ${killed.seen.sent} requests, ${killed.failures.length} failed, the last ${last ? ((last.at - at) / 1000).toFixed(1) : 0} s after it; served again after ${(servedMs / 1000).toFixed(1)} s; slowest ${killed.seen.slowestMs.toFixed(0)} ms; ${load()}`,
  );
  // From the moment that the next server listens they wait; so all that failed found no listener, or was cut with the killed one.
  assert.deepEqual(
    killed.failures.filter(({ how }) => how.startsWith('status')),
    [],
  );
  const kept = await kube(admin, 'GET', maps);
  assert.ok(listed.every((name: string) => kept.body.items.some(({ metadata }: { metadata: { name: string } }) => metadata.name === name)));
});
