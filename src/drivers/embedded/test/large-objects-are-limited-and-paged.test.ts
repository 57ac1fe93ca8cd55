import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../kernel/db/index.ts';
import { limits } from '../engine/cluster.ts';
import { type Caller, configMap, embedded, issue } from './support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const merge = { 'content-type': 'application/merge-patch+json' };
const keys = (from: number, to: number) => Object.fromEntries(Array.from({ length: to - from }, (_, n) => [`k${from + n}`, '']));

test('large objects are limited, and lists of them come in pages', async (t) => {
  const { call, as, ca, cluster, deck, options, another } = await embedded(t);

  // The limit of fields and values holds for every kind of write.
  assert.equal((await call('POST', maps, configMap('many', keys(0, 9_000)))).status, 201);
  const grown = await call('PATCH', `${maps}/many`, { data: keys(9_000, 12_000) }, merge);
  assert.equal(grown.status, 413, grown.text);
  assert.match(grown.body.message, /more than 10000 fields and values/);
  assert.equal((await call('POST', maps, configMap('more', keys(0, 11_000)))).status, 413);
  // An object that exceeded the limit before it existed may be updated as long as it does not grow.
  const old = { ...(await call('GET', `${maps}/many`)).body, data: keys(0, 20_000) };
  await deck.app.db.write(
    (tx) =>
      run(tx)`update clusters.object set body = ${JSON.stringify(old)}, bytes = ${JSON.stringify(old).length}
               where cluster_id = ${options.clusterId} and name = 'many'`,
  );
  assert.equal((await call('PATCH', `${maps}/many`, { data: { k0: 'x' } }, merge)).status, 200);
  assert.equal((await call('PATCH', `${maps}/many`, { data: { more: 'x' } }, merge)).status, 413);
  assert.equal((await call('PATCH', `${maps}/many`, { data: { k0: null } }, merge)).status, 200);
  assert.equal((await call('DELETE', `${maps}/many`)).status, 200);

  // A page ends by bytes too, and the next one continues there.
  for (let n = 0; n < 5; n++) await call('POST', maps, configMap(`big-${n}`, { x: 'x'.repeat(1_000_000) }));
  const names: string[] = [];
  let next = '';
  let slices = 0;
  do {
    const { body, text } = await call('GET', `${maps}?limit=100${next ? `&continue=${next}` : ''}`);
    assert.ok(text.length < limits.pageBytes + 1_500_000, `${text.length} bytes in a slice`);
    names.push(...body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name));
    next = body.metadata.continue ?? '';
    slices++;
  } while (next);
  assert.deepEqual(names, ['big-0', 'big-1', 'big-2', 'big-3', 'big-4']);
  assert.ok(slices >= 2, `${slices} slices`);

  // Heartbeats are read without the node objects, whatever their size.
  const status = {
    conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:00Z' }],
    images: Array.from({ length: 500 }, (_, n) => ({ names: [`image-${n}-${'x'.repeat(1_000)}`] })),
  };
  assert.equal((await call('POST', '/api/v1/nodes', { metadata: { name: 'large' }, status })).status, 201);
  assert.equal((await call('POST', '/api/v1/nodes', { metadata: { name: 'quiet' } })).status, 201);
  const nul = { metadata: { name: 'nul' }, status: { conditions: [{ type: 'Ready\u0000', status: 'True' }] } };
  assert.equal((await call('POST', '/api/v1/nodes', nul)).status, 201);
  const lease = { metadata: { name: 'large' }, spec: { renewTime: '2026-01-01T00:00:01.000000Z' } };
  assert.equal((await call('POST', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', lease)).status, 201);
  assert.deepEqual(await cluster.heartbeats(), [
    { name: 'large', ready: 'True', heartbeat: '2026-01-01T00:00:00Z', renewed: '2026-01-01T00:00:01.000000Z' },
    { name: 'quiet', ready: null, heartbeat: null, renewed: null },
  ]);

  // A change of roles holds for the next request on this server and on another, also for concurrent ones.
  const anna = issue(ca, 'anna');
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const second = await another();
  const statusesOf = async (by: Caller) =>
    Promise.all(Array.from({ length: 20 }, async () => (await by('GET', '/api/v1/namespaces/default/services')).status));
  const expectForAll = async (wanted: number) => {
    for (const by of [as(anna), second.as(anna)]) assert.deepEqual(new Set(await statusesOf(by)), new Set([wanted]));
  };
  await call('POST', `${rbac}/clusterroles`, {
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['services'], verbs: ['list'] }],
  });
  await expectForAll(403);
  const binding = {
    metadata: { name: 'anna' },
    roleRef: { kind: 'ClusterRole', name: 'reader' },
    subjects: [{ kind: 'User', name: 'anna' }],
  };
  assert.equal((await call('POST', `${rbac}/clusterrolebindings`, binding)).status, 201);
  await expectForAll(200);
  const none = { rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['list'] }] };
  assert.equal((await call('PATCH', `${rbac}/clusterroles/reader`, none, merge)).status, 200);
  await expectForAll(403);
  assert.equal((await call('DELETE', `${rbac}/clusterroles/reader`)).status, 200);
  await expectForAll(403);
});
