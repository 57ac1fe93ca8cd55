import assert from 'node:assert/strict';
import { test } from 'node:test';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminOf, kube, untilReady } from '../support.ts';
import { killProgram, pidsOf, programsIn, withPrograms } from './support.ts';

test('programs that crash, hang, do not end or find their port taken are mended, and said where people look', async (t) => {
  const { owner, dataDir, binaries } = await withPrograms(t);

  // An apiserver that does not start: the cluster says so, and is made once it does.
  await misbehave(binaries, { 'kube-apiserver': { crashAtStart: true } });
  assert.equal((await owner.post('/clusters', { name: 'prod', tier: 'small' })).status, 201);
  const limits = async () => (await owner.get('/clusters/prod/usage')).body.limitations ?? [];
  await eventually(async () => /kube-apiserver ended/.test((await limits()).join()), { withinMs: 60_000 });
  assert.notEqual((await owner.get('/clusters/prod')).body.phase, 'ready');
  // One that says that its port is taken gets another.
  await misbehave(binaries, { 'kube-apiserver': { slowStartMs: 500 } });
  await owner.patch('/clusters/prod', {});
  await untilReady(owner, 'prod');
  const admin = await adminOf(owner, 'prod');
  const alive = async () => (await kube(admin, 'GET', '/version').catch(() => ({ status: 0 }))).status === 200;

  // Killed, one after the other: each comes back, and what was written is there.
  for (const kind of ['kube-apiserver', 'kine', 'kube-controller-manager']) {
    const before = await killProgram(dataDir, kind);
    await eventually(
      async () => {
        const [now] = await pidsOf(dataDir, kind);
        return now !== undefined && now !== before && (await alive());
      },
      { withinMs: 60_000 },
    );
    await eventually(async () => (await owner.get('/clusters/prod')).body.phase === 'ready', { withinMs: 60_000 });
  }

  // Away for longer: degraded with the reason, 503 in Kubernetes' words.
  await misbehave(binaries, { 'kube-apiserver': { crashAtStart: true } });
  await killProgram(dataDir, 'kube-apiserver');
  await eventually(async () => (await owner.get('/clusters/prod')).body.phase === 'degraded', { withinMs: 60_000 });
  const said = await kube(admin, 'GET', '/version');
  assert.deepEqual([said.status, said.body.kind, said.body.reason], [503, 'Status', 'ServiceUnavailable']);
  assert.equal((await owner.get('/clusters/prod/kubeconfig')).status, 502);
  await misbehave(binaries, {});
  await untilReady(owner, 'prod');

  // Deaf to SIGTERM: killed after a while.
  await misbehave(binaries, { 'kube-apiserver': { deaf: true }, 'kube-controller-manager': { deaf: true } });
  for (const kind of ['kube-apiserver', 'kube-controller-manager']) await killProgram(dataDir, kind);
  await eventually(alive, { withinMs: 60_000 });
  await untilReady(owner, 'prod');
  await owner.delete('/clusters/prod');
  await eventually(async () => (await owner.get('/clusters/prod')).status === 404, { withinMs: 60_000 });
  assert.deepEqual(await programsIn(dataDir), []);
});
