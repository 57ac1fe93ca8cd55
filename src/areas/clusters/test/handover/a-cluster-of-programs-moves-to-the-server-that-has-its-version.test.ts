import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { askOften, maps } from '../process/request-loop.ts';
import { fakeBinaries, pidsOf, programsIn, watchFrom } from '../process/support.ts';
import { adminOf, kube, untilReady } from '../support.ts';
import { heirOf, machines, untilSaid } from './support.ts';

const create = async (qd: Awaited<ReturnType<typeof machines>>, name: string) => {
  await eventually(async () => (await qd.owner.post('/clusters', { name, tier: 'large', orchestratorVersion: 'v1.35.8' })).status === 201, {
    withinMs: 60_000,
  });
  await untilReady(qd.owner, name);
  const admin = await adminOf(qd.owner, name);
  const made = await kube(admin, 'POST', maps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'seed' } });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return admin;
};

test('an upgrade to a version that only another server has moves the cluster there, and no request fails', async (t) => {
  const [old, both] = [await fakeBinaries(t, ['v1.35.8']), await fakeBinaries(t)];
  const qd = await machines(t, { env: { QUARTERDECK_CLUSTER_BINARIES: both } });
  const first = await qd.startShard('first', { QUARTERDECK_CLUSTER_BINARIES: old });
  const admin = await create(qd, 'prod');
  const second = await qd.startShard('second');
  const loop = askOften(admin, 'm', 4);
  const watch = watchFrom(admin, maps);
  await eventually(async () => (await qd.owner.patch('/clusters/prod', { orchestratorVersion: 'v1.36.4' })).status === 200, {
    withinMs: 60_000,
  });
  await untilSaid(second, 'a cluster was handed over to this server');
  await untilReady(qd.owner, 'prod');
  await eventually(async () => (await kube(admin, 'GET', '/version')).body.gitVersion === 'v1.36.4');
  await eventually(async () => (await programsIn(first.dataDir)).length === 0, { withinMs: 60_000 });
  const before = loop.seen.sent;
  while (loop.seen.sent < before + 50) await sleep(20);
  await loop.stop();
  assert.deepEqual(loop.failures, []);
  assert.ok(loop.seen.sent > 100, `${loop.seen.sent}`);
  const listed = (await kube(admin, 'GET', maps)).body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  await eventually(async () => listed.every((name: string) => watch.names().has(name)), { withinMs: 60_000 });
  watch.stop();
  assert.equal(watch.cuts(), 0);
  assert.equal((await pidsOf(second.dataDir, 'kube-apiserver')).length, 1);
});

test('a handover survives the death of either side', async (t) => {
  const binaries = await fakeBinaries(t);
  const qd = await machines(t, { env: { QUARTERDECK_CLUSTER_BINARIES: binaries } });
  const first = await qd.startShard('first');
  const admin = await create(qd, 'prod');
  const second = await qd.startShard('second');
  // The heir dies while its apiserver becomes ready: the holder, which was to stop, serves on until it gives the cluster back in good order.
  await misbehave(binaries, { 'kube-apiserver': { heldStart: true } });
  const loop = askOften(admin, 'm', 2);
  first.signal('SIGTERM');
  await eventually(async () => (await heirOf(qd)) !== null, { withinMs: 60_000 });
  await second.killed();
  const before = loop.seen.sent;
  while (loop.seen.sent < before + 20) await sleep(20);
  assert.deepEqual(loop.failures, []);
  await loop.stop();
  await misbehave(binaries, {});
  // A third one takes it over, and the holder is killed meanwhile: the heir goes on with what it has prepared.
  const third = await qd.startShard('third');
  assert.equal((await first.exited).code, 0);
  await untilReady(qd.owner, 'prod');
  const fourth = await qd.startShard('fourth');
  await misbehave(binaries, { 'kube-apiserver': { heldStart: true } });
  third.signal('SIGTERM');
  await eventually(async () => (await heirOf(qd)) !== null, { withinMs: 60_000 });
  await third.killed();
  await misbehave(binaries, {});
  await untilSaid(fourth, 'a cluster was handed over to this server');
  await eventually(async () => (await kube(admin, 'GET', `${maps}/seed`).catch(() => undefined))?.status === 200, { withinMs: 60_000 });
  assert.equal((await pidsOf(fourth.dataDir, 'kube-apiserver')).length, 1);
  assert.equal((await qd.owner.delete('/clusters/prod')).status, 202);
  await eventually(async () => (await qd.owner.get('/clusters/prod')).status === 404, { withinMs: 60_000 });
});
