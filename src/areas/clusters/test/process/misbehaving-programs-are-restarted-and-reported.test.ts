import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';
import { programsIn, recordsBelow, runOf, withPrograms } from './support.ts';

test('programs that crash, hang, do not exit or find their port taken are restarted, and tenants see the reason', async (t) => {
  const { owner, dataDir, binaries, app } = await withPrograms(t);
  const place = await runOf(dataDir);

  // An apiserver that does not start: the cluster says so, and is made once it does.
  await misbehave(binaries, { 'kube-apiserver': { crashAtStart: true } });
  assert.equal((await owner.post('/clusters', { name: 'deaf', tier: 'small' })).status, 201);
  const limits = async () => (await owner.get('/clusters/deaf/usage')).body.limitations ?? [];
  await eventually(async () => /kube-apiserver ended/.test((await limits()).join()), { withinMs: 60_000 });
  assert.notEqual((await owner.get('/clusters/deaf')).body.phase, 'ready');
  // One that says that its port is taken gets another.
  await misbehave(binaries, { 'kube-apiserver': { slowStartMs: 500, deaf: true }, 'kube-controller-manager': { deaf: true } });
  await owner.patch('/clusters/deaf', {});
  await untilReady(owner, 'deaf');
  // Deaf to SIGTERM: killed after a while, which the rest does not wait for. It is another cluster, whose programs have not ended before:
  // those that ended several times in a row are made to wait longer and longer.
  const [deaf] = await readdir(place);
  await misbehave(binaries, {});
  await owner.delete('/clusters/deaf');
  await readyCluster(owner, { name: 'prod' });
  const prod = (await readdir(place)).find((id) => id !== deaf)!;
  const pidOf = async (kind: string) => (await recordsBelow(join(place, prod))).find((record) => record.kind === kind)?.pid;
  const kill = async (kind: string) => {
    const pid = await eventually(() => pidOf(kind));
    process.kill(pid, 'SIGKILL');
    return pid;
  };
  const admin = await adminOf(owner, 'prod');
  const alive = async () => (await kube(admin, 'GET', '/version').catch(() => ({ status: 0 }))).status === 200;

  // Killed, one after the other: each comes back, and what was written is there.
  for (const kind of ['kine', 'kube-controller-manager', 'kube-apiserver']) {
    const before = await kill(kind);
    await eventually(
      async () => {
        const now = await pidOf(kind);
        return now !== undefined && now !== before && (await alive());
      },
      { withinMs: 60_000 },
    );
    await eventually(async () => (await owner.get('/clusters/prod')).body.phase === 'ready', { withinMs: 60_000 });
  }

  // Away for longer: degraded with the reason, 503 in Kubernetes' words.
  await misbehave(binaries, { 'kube-apiserver': { crashAtStart: true } });
  await kill('kube-apiserver');
  await eventually(async () => (await owner.get('/clusters/prod')).body.phase === 'degraded', { withinMs: 60_000 });
  const said = await kube(admin, 'GET', '/version');
  assert.deepEqual([said.status, said.body.kind, said.body.reason], [503, 'Status', 'ServiceUnavailable']);
  assert.equal((await owner.get('/clusters/prod/kubeconfig')).status, 502);
  // What was last seen of it is shown, however long ago that was.
  await app.db.write(
    (tx) => run(tx)`
      insert into clusters.sample (org_id, cluster_id, at, nodes, ready, inflight, objects, bytes, components)
      select org_id, id, kernel.now() + interval '1 second', 3, 2, 0, 7, 1, '[]' from clusters.cluster where name = 'prod'`,
  );
  await app.db.write((tx) => moveClock(tx, 3_600));
  const { status, body: usage } = await owner.get('/clusters/prod/usage');
  assert.deepEqual([status, usage.limitations[0].split(' ')[0]], [200, 'degraded:'], JSON.stringify(usage));
  assert.deepEqual([usage.nodes.count, usage.nodes.ready, usage.datastore.keys], [3, 2, 7]);
  assert.match(usage.limitations[1], /^nodes: the control plane does not tell them now/);
  await misbehave(binaries, {});
  await untilReady(owner, 'prod');

  await owner.delete('/clusters/prod');
  for (const name of ['prod', 'deaf'])
    await eventually(async () => (await owner.get(`/clusters/${name}`)).status === 404, { withinMs: 60_000 });
  assert.deepEqual(await programsIn(dataDir), []);
});
