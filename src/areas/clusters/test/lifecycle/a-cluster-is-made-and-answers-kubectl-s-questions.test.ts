import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminOf, kube, readyCluster } from '../support.ts';

test('a cluster is created, answers a client configuration, and is deleted without a trace', async (t) => {
  const { owner, app } = await quarterdeck(t);
  const made = await owner.post('/clusters', { name: 'prod', tier: 'small' });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.deepEqual(made.body, {
    name: 'prod',
    tier: 'small',
    orchestratorVersion: 'v1.36.0+embedded',
    replicas: 1,
    mesh: false,
    datastore: { mode: 'shared' },
    phase: 'pending',
    managedLoadBalancers: { enabled: false, maxServices: 2, loadBalancers: [] },
  });
  await eventually(async () => (await owner.get('/clusters/prod')).body.phase === 'ready');
  const { body } = await owner.get('/clusters/prod');
  assert.match(body.endpoint, /^https:\/\/127\.0\.0\.1:\d+$/);
  assert.deepEqual((await owner.get('/clusters')).body, { clusters: [body] });

  const admin = await adminOf(owner, 'prod');
  assert.equal(admin.server, body.endpoint);
  const namespaces = await kube(admin, 'GET', '/api/v1/namespaces');
  assert.equal(namespaces.status, 200, JSON.stringify(namespaces.body));
  const names = namespaces.body.items.map((n: { metadata: { name: string } }) => n.metadata.name);
  for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease']) assert.ok(names.includes(name), name);
  const version = await kube(admin, 'GET', '/version');
  assert.equal(version.body.gitVersion, 'v1.36.0+embedded');

  assert.equal((await owner.delete('/clusters/prod')).status, 202);
  assert.equal((await owner.delete('/clusters/prod')).status !== 500, true);
  await eventually(async () => (await owner.get('/clusters/prod')).status === 404);
  await assert.rejects(kube(admin, 'GET', '/version'), /ECONNREFUSED|ECONNRESET|socket hang up/);
  const tables = await app.db.read((tx) =>
    tx.query({
      strings: [
        `select (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from clusters.%I', tablename), false, true, '')))[1]::text::int as n,
                tablename as name from pg_tables where schemaname = 'clusters' and tablename <> 'shard'`,
      ],
      values: [],
    } as never),
  );
  assert.ok(tables.rows.length >= 8);
  assert.deepEqual(
    tables.rows.filter(({ n }) => n !== 0),
    [],
    'nothing of it is left in any table',
  );

  // The name and the place are free again.
  await readyCluster(owner, { name: 'prod' });
});
