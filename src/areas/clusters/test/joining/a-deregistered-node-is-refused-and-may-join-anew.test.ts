import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminOf, joinNode, joinToken, kube, readyCluster } from '../support.ts';

test('every request of a deregistered node is refused, and it may join again', async (t) => {
  const { owner } = await quarterdeck(t);
  await readyCluster(owner, { name: 'prod' });
  const admin = await adminOf(owner, 'prod');
  const { way: old } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  const { way: neighbour } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-2');
  assert.equal((await owner.delete('/clusters/prod/nodes/nobody')).status, 404);
  assert.equal((await owner.delete('/clusters/prod/nodes/worker-1')).status, 204);

  // Reads too, within two seconds; and its Node does not come back.
  await eventually(
    async () =>
      kube(old, 'GET', '/api/v1/nodes/worker-1').then(
        ({ status }) => status === 401,
        () => false,
      ),
    { withinMs: 2_000 },
  );
  const shown = await kube(old, 'POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1' } });
  assert.equal(shown.status, 401, JSON.stringify(shown.body));
  assert.deepEqual(
    (await owner.get('/clusters/prod/nodes')).body.nodes.map((n: { name: string }) => n.name),
    ['worker-2'],
  );
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/worker-1';
  assert.equal((await kube(admin, 'GET', lease)).status, 404);
  assert.equal((await kube(neighbour, 'GET', '/api/v1/nodes/worker-2')).status, 200, 'others are untouched');
  assert.equal((await owner.delete('/clusters/prod/nodes/worker-1')).status, 404);

  // The name is free for a machine that joins anew; the old certificate stays refused.
  const { way: fresh } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  assert.equal((await kube(fresh, 'GET', '/api/v1/nodes/worker-1')).status, 200);
  assert.equal((await kube(old, 'GET', '/api/v1/nodes/worker-1')).status, 401);
  assert.equal((await owner.get('/clusters/prod/nodes')).body.nodes.length, 2);
});
