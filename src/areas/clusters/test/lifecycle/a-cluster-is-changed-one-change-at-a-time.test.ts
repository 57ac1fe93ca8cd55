import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { adminOf, joinNode, joinToken, kube, readyCluster, untilReady } from '../support.ts';

test('a cluster is upgraded and resized through its gates', async (t) => {
  const { owner, clock } = await quarterdeck(t);
  await readyCluster(owner, { name: 'prod', tier: 'medium', orchestratorVersion: 'v1.34.0+embedded' });
  const patch = (body: unknown) => owner.patch('/clusters/prod', body);

  // What is invalid, and what is in the way; nothing of it holds.
  const before = (await owner.get('/clusters/prod')).body;
  for (const [status, body, sentence] of [
    [400, { orchestratorVersion: 'v1.30.0' }, /not in the version catalog/],
    [400, { tier: 'huge' }, /none of small, medium, large/],
    [400, { tier: 'huge', replicas: 2 }, /none of small/],
    [400, { datastore: { mode: 'dedicated' } }, /mode/],
    [409, { orchestratorVersion: 'v1.36.0+embedded', replicas: 3 }, /more than one minor version above/],
    [409, { tier: 'small', replicas: 3 }, /only 0 of the 3 looks/],
  ] as const) {
    const refused = await patch(body);
    assert.equal(refused.status, status, JSON.stringify(refused.body));
    assert.match(refused.body.error, sentence);
  }
  assert.deepEqual((await owner.get('/clusters/prod')).body, before);
  assert.deepEqual((await patch({})).body, before);

  // The nodes that a version would leave behind are named.
  const admin = await adminOf(owner, 'prod');
  await joinNode(admin, await joinToken(owner, 'prod'), 'old-one', 'v1.31.9');
  await joinNode(admin, await joinToken(owner, 'prod'), 'fine', 'v1.34.1');
  const upgrades = await owner.get('/clusters/prod/upgrades');
  assert.deepEqual(upgrades.body, {
    current: 'v1.34.0+embedded',
    upgrades: [{ version: 'v1.35.0+embedded', state: 'supported', blockedBy: [{ node: 'old-one', agentVersion: 'v1.31.9' }] }],
  });
  const skewed = await patch({ orchestratorVersion: 'v1.35.0+embedded' });
  assert.equal(skewed.status, 409);
  assert.match(skewed.body.error, /old-one \(v1\.31\.9\)$/);
  assert.equal((await owner.delete('/clusters/prod/nodes/old-one')).status, 204);

  // Then it goes up, and answers as what it is.
  const going = await patch({ orchestratorVersion: 'v1.35.0+embedded', datastore: { backups: true } });
  assert.equal(going.status, 200, JSON.stringify(going.body));
  assert.deepEqual(
    [going.body.phase, going.body.orchestratorVersion, going.body.datastore],
    ['updating', 'v1.35.0+embedded', { mode: 'shared', backups: true }],
  );
  await untilReady(owner, 'prod');
  assert.equal((await kube(admin, 'GET', '/version')).body.gitVersion, 'v1.35.0+embedded');
  assert.match((await patch({ orchestratorVersion: 'v1.34.0+embedded' })).body.error, /never goes back/);

  // Three looks, a minute apart: then a smaller tier is judged by them. Fewer are no answer, and it says how many there are.
  for (const n of [1, 2]) {
    await clock.advance('61s');
    await eventually(async () => (await patch({ tier: 'small' })).body.error.includes(`only ${n} of the 3 looks`));
  }
  await clock.advance('61s');
  await eventually(async () => (await patch({ tier: 'small' })).status === 200);
  await untilReady(owner, 'prod');
  const usage = await owner.get('/clusters/prod/usage');
  assert.equal(usage.status, 200, JSON.stringify(usage.body));
  assert.ok(usage.body.controlPlane.hours >= 0.05 && usage.body.controlPlane.hours < 1, JSON.stringify(usage.body.controlPlane));
  assert.deepEqual(usage.body.nodes.byVersion, { 'v1.34.1': 1 });
  assert.deepEqual([usage.body.nodes.cpuMilli, usage.body.nodes.memoryBytes], [4000, 16 * 2 ** 30]);
  assert.ok(usage.body.datastore.keys > 10 && usage.body.datastore.usedBytes > 1000);
});

test('a running change blocks another, whose refusal names it', async (t) => {
  const { owner, app } = await quarterdeck(t);
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.35.0+embedded' });
  // Another server has it from now on, and takes its time.
  const hold = () =>
    app.db.write(
      (tx) => run(tx)`update clusters.cluster set lease = ${randomUUID()}::uuid, lease_until = kernel.now() + interval '1 hour'`,
    );
  await hold();
  const both = await Promise.all(
    [1, 2].map(() => owner.patch('/clusters/prod', { orchestratorVersion: 'v1.36.0+embedded', tier: 'large' })),
  );
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409], JSON.stringify(both.map(({ body }) => body)));
  const third = await owner.patch('/clusters/prod', { replicas: 3 });
  assert.equal(third.status, 409);
  assert.match(third.body.error, /upgrade v1\.35\.0\+embedded → v1\.36\.0\+embedded, resize small → large, since \d{4}-/);
  assert.equal((await owner.delete('/clusters/prod')).status, 202);
  assert.match((await owner.patch('/clusters/prod', {})).body.error, /is being deleted/);
  for (const path of ['kubeconfig', 'nodes', 'registration-tokens']) {
    const refused = await owner.get(`/clusters/prod/${path}`);
    assert.equal(refused.status, 409, path);
    assert.match(refused.body.error, /deleting/);
  }
});

test('without an endpoint the refusal names the phase; above the quota no cluster is created', async (t) => {
  const { owner } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api,worker' } });
  for (let n = 1; n <= 5; n++) assert.equal((await owner.post('/clusters', { name: `c${n}`, tier: 'small' })).status, 201);
  const sixth = await owner.post('/clusters', { name: 'c6', tier: 'small' });
  assert.equal(sixth.status, 403);
  assert.match(sixth.body.error, /quota exceeded: the organization has 5 clusters/);
  assert.equal((await owner.post('/clusters', { name: 'c1', tier: 'small' })).status, 403);
  assert.equal((await owner.get('/clusters/c1')).body.phase, 'pending', 'no server with the role shard is there');
  for (const [method, path] of [
    ['GET', 'kubeconfig'],
    ['GET', 'nodes'],
    ['POST', 'join-tokens'],
    ['GET', 'registration-tokens'],
  ] as const) {
    const refused = await owner.request(method, `/clusters/c1/${path}`);
    assert.equal(refused.status, 409, `${path} ${JSON.stringify(refused.body)}`);
    assert.match(refused.body.error, /c1 is pending and has no endpoint yet/);
  }
  assert.match((await owner.patch('/clusters/c1', { replicas: 2 })).body.error, /concurrent change: cluster c1 is pending/);
  const usage = await owner.get('/clusters/c1/usage');
  assert.equal(usage.status, 200, JSON.stringify(usage.body));
  assert.equal((await owner.delete('/clusters/c5')).status, 202);
  assert.equal((await owner.post('/clusters', { name: 'C6', tier: 'small' })).status, 400);
});
