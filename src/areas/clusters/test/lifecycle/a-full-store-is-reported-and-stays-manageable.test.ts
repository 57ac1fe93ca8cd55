import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { limits } from '../../../../drivers/embedded/engine/cluster.ts';
import { adminOf, joinNode, joinToken, kube, readyCluster, untilReady } from '../support.ts';

const maps = '/api/v1/namespaces/default/configmaps';

test('a full store is reported and stays manageable', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  await readyCluster(owner, { name: 'prod' });
  const admin = await adminOf(owner, 'prod');
  const { way: node } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  const most = limits.bytes;
  t.after(() => {
    limits.bytes = most;
  });
  limits.bytes = 4 * 2 ** 20;
  const post = (name: string, finalizers: string[] = []) =>
    kube(admin, 'POST', maps, { metadata: { name, finalizers }, data: { x: 'x'.repeat(100_000) } });
  assert.equal((await post('kept', ['example.com/x'])).status, 201);
  let last = await post('m0');
  for (let n = 1; last.status === 201; n++) last = await post(`m${n}`);
  assert.equal(last.status, 403);
  assert.match(last.body.message, /^the cluster’s store is full: .*delete some first, or choose a larger tier$/);

  // It is said, and everything that a full cluster needs goes on.
  await eventually(async () => (await owner.get('/clusters/prod')).body.phase === 'degraded', { withinMs: 60_000 });
  const usage = (await owner.get('/clusters/prod/usage')).body;
  assert.match(
    usage.limitations[0],
    /^degraded: the cluster’s store is full: its objects take 3\.\d MiB, and its tier has room for 3\.8 MiB/,
  );
  const anna = await qd.member(owner, 'admin', 'anna@example.com');
  const hers = await adminOf(anna, 'prod');
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/worker-1';
  const { body: leased } = await kube(node, 'GET', lease);
  assert.equal((await kube(node, 'PUT', lease, { ...leased, spec: { ...leased.spec, holderIdentity: 'worker-1-again' } })).status, 200);
  const binding = {
    metadata: { name: 'helper' },
    roleRef: { kind: 'ClusterRole', name: 'admin' },
    subjects: [{ kind: 'User', name: 'helper' }],
  };
  assert.equal((await kube(hers, 'POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding)).status, 201);
  assert.equal((await kube(hers, 'DELETE', `${maps}/kept`)).status, 200, 'one with a finalizer grows by what says that it goes');

  // Without even the reserve, the caller gets the reason.
  limits.bytes = 2 ** 20;
  const token = await owner.post('/clusters/prod/join-tokens');
  assert.equal(token.status, 409, JSON.stringify(token.body));
  assert.match(token.body.error, /^cluster prod: the cluster’s store is full/);

  limits.bytes = most;
  await untilReady(owner, 'prod');
  assert.equal(
    (await owner.get('/clusters/prod/usage')).body.limitations.some((one: string) => one.includes('full')),
    false,
  );
});

test('an empty change does not mark a cluster ready that no shard serves', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const { owner } = qd;
  const made = await owner.post('/clusters', { name: 'prod', tier: 'small' });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { run } = await import('../../../../kernel/db/index.ts');
  await qd.app.db.write(
    (tx) => run(tx)`update clusters.cluster set phase = 'ready', endpoint = 'https://127.0.0.1:1', observed_generation = 1`,
  );
  const patched = await owner.patch('/clusters/prod', {});
  assert.deepEqual([patched.status, patched.body.phase], [200, 'degraded'], JSON.stringify(patched.body));
});
