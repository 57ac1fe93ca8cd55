import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../../../test/harness/free-port.ts';
import { quarterdeck } from '../../../test/harness/index.ts';
import { urlOf } from '../../../test/harness/postgres.ts';
import { adminOf, kube, readyCluster } from '../../areas/clusters/test/support.ts';
import { adminHere } from './support.ts';

test('the operator hands a cluster over to another server, or is told why not', async (t) => {
  const env = { QUARTERDECK_CLUSTER_LISTEN: `127.0.0.1:${await freePort()}` };
  const first = await quarterdeck(t, { env: { ...env, QUARTERDECK_ROLES: 'api,shard' } });
  const own = { QUARTERDECK_DATABASE_URL: urlOf(first.connection), QUARTERDECK_DATA: first.dataDir };
  const handOver = (...args: string[]) => adminHere(['clusters', 'hand-over', ...args], own);
  await readyCluster(first.owner, { name: 'prod' });
  const admin = await adminOf(first.owner, 'prod');
  for (const [cluster, why] of [
    ['elsewhere', /unknown cluster elsewhere/],
    ['prod', /no other server with the role shard can take cluster prod over; start one that has v1\.36\.0\+embedded/],
  ] as const) {
    const { code, err } = await handOver(cluster);
    assert.equal(code, 11, err);
    assert.match(err, why);
  }

  const second = await quarterdeck(t, {
    connection: first.connection,
    dataDir: first.dataDir,
    env: { ...env, QUARTERDECK_ROLES: 'shard' },
  });
  const done = await handOver('prod');
  assert.equal(done.code, 0, done.err);
  assert.equal(done.out, 'prod was handed over\n');
  assert.equal((await kube(admin, 'GET', '/api/v1/namespaces')).status, 200);
  await second.stop();
});
