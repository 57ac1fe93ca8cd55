import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminOf, kube, readyCluster } from '../support.ts';
import { withPrograms } from './support.ts';

test('revoking a token invalidates its client configuration of a process cluster, and no other', async (t) => {
  const qd = await withPrograms(t);
  const { owner } = qd;
  await readyCluster(owner, { name: 'prod' });
  const made = await owner.post('/tokens', { name: 'ci' });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const own = await adminOf(owner, 'prod');
  const stolen = await adminOf(caller(qd.url, made.body.key), 'prod');
  const status = async (way: typeof own) => (await kube(way, 'GET', '/api/v1/namespaces/default')).status;
  assert.deepEqual([await status(own), await status(stolen)], [200, 200]);

  assert.equal((await owner.delete(`/tokens/${made.body.id}`)).status, 204);
  await eventually(async () => (await status(stolen)) === 401, { withinMs: 60_000 });
  assert.equal(await status(own), 200);
});
