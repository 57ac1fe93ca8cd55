import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminOf, joinNode, joinToken, kube, readyCluster } from '../support.ts';

test('a node without heartbeats is not ready, and ready again after the next heartbeat', async (t) => {
  const { owner, clock } = await quarterdeck(t);
  await readyCluster(owner, { name: 'prod' });
  const { way } = await joinNode(await adminOf(owner, 'prod'), await joinToken(owner, 'prod'), 'worker-1');
  const isReady = async () => (await owner.get('/clusters/prod/nodes')).body.nodes[0].ready;
  assert.equal(await isReady(), true);
  await eventually(
    async () => {
      await clock.advance('41s');
      return !(await isReady());
    },
    { everyMs: 300 },
  );
  const { body } = await kube(way, 'GET', '/api/v1/nodes/worker-1');
  assert.equal(body.status.conditions[0].reason, 'NodeStatusUnknown');
  const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: '2026-01-01T00:00:00Z' }];
  assert.equal((await kube(way, 'PUT', '/api/v1/nodes/worker-1/status', { ...body, status: { ...body.status, conditions } })).status, 200);
  assert.equal(await isReady(), true);
});
