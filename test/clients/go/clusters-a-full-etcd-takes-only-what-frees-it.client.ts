import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kube, type Way } from '../../../src/areas/clusters/test/support.ts';
import { fullStoreBinding, fullStorePolicy } from '../../../src/drivers/process/rules/etcd/full-store.ts';
import { eventually } from '../../harness/process.ts';
import { dedicatedCluster } from './clusters-support.ts';
import { patience } from './kubernetes-support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const admission = '/apis/admissionregistration.k8s.io/v1';
const bindings = `${admission}/validatingadmissionpolicybindings`;
const map = (name: string, more: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...more } });
const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'mine' }, spec: { holderIdentity: 'me' } };
const merge = 'application/merge-patch+json';

const statusOf = async (way: Way, method: string, path: string, body?: unknown, type?: string) =>
  (await kube(way, method, path, body, type)).status;
const randomName = () => `more-${Math.random().toString(36).slice(2)}`;
const untilRefused = (admin: Way) => eventually(async () => (await statusOf(admin, 'POST', maps, map(randomName()))) === 403, patience);

test('the policy of a full store lets through deletions, leases, node status and reviews, and refuses all else with a sentence', {
  timeout: 600_000,
}, async (t) => {
  const { admin } = await dedicatedCluster(t, {});
  for (const made of [map('goes'), map('held', { finalizers: ['example.com/held'] }), map('stays')])
    assert.equal(await statusOf(admin, 'POST', maps, made), 201);
  assert.equal(await statusOf(admin, 'POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1' } }), 201);
  // Under another name: the store is not full, so Quarterdeck takes away what has its own.
  const metadata = { name: 'tried' };
  const binding = { ...fullStoreBinding, metadata, spec: { ...fullStoreBinding.spec, policyName: 'tried' } };
  assert.equal(await statusOf(admin, 'POST', `${admission}/validatingadmissionpolicies`, { ...fullStorePolicy(1), metadata }), 201);
  assert.equal(await statusOf(admin, 'POST', bindings, binding), 201);
  await untilRefused(admin);

  const refused = await kube(admin, 'POST', maps, map('more'));
  assert.equal(refused.status, 403);
  assert.match(
    refused.body.message,
    /the datastore of this cluster is 95 % full \(1 GiB\); delete objects, or choose a larger datastore\.storageGiB/,
  );
  assert.equal(await statusOf(admin, 'PATCH', `${maps}/stays`, { data: { a: 'b' } }, merge), 403);
  assert.equal(await statusOf(admin, 'GET', `${maps}/stays`), 200);
  assert.equal(await statusOf(admin, 'POST', leases, lease), 201);
  assert.equal(await statusOf(admin, 'PATCH', `${leases}/mine`, { spec: { holderIdentity: 'other' } }, merge), 200);
  const status = { status: { conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }] } };
  assert.equal(await statusOf(admin, 'PATCH', '/api/v1/nodes/worker-1/status', status, merge), 200);
  assert.equal(await statusOf(admin, 'PATCH', '/api/v1/nodes/worker-1', { metadata: { labels: { a: 'b' } } }, merge), 403);
  const spec = { nonResourceAttributes: { path: '/', verb: 'get' } };
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec };
  assert.equal(await statusOf(admin, 'POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review), 201);
  assert.equal(await statusOf(admin, 'DELETE', `${maps}/goes`), 200);
  // One with a finalizer goes when that is taken off, which is a change of an object that is being deleted.
  assert.equal(await statusOf(admin, 'DELETE', `${maps}/held`), 200);
  assert.equal(await statusOf(admin, 'PATCH', `${maps}/held`, { metadata: { finalizers: null } }, merge), 200);
  assert.equal(await statusOf(admin, 'GET', `${maps}/held`), 404);
  // The policy can be taken away while it holds.
  assert.equal(await statusOf(admin, 'DELETE', `${bindings}/tried`), 200);
  await eventually(async () => (await statusOf(admin, 'POST', maps, map(randomName()))) === 201, patience);
});

// Writes 2 GiB, so it takes as long as the disk needs for that. Each portion is a test of its own, of which the runner hears.
test('an etcd that is 95 % full refuses writes, and takes them again once there is room', { timeout: 3_600_000 }, async (t) => {
  const { owner, admin, members } = await dedicatedCluster(t, {});
  assert.equal(await statusOf(admin, 'POST', maps, map('stays')), 201);
  const [member] = await members();
  const encoded = (text: string | Buffer) => Buffer.from(text).toString('base64');
  const filler = encoded(Buffer.alloc(2 ** 20, 7));
  const size = async () => (await members())[0]?.status?.fileBytes ?? 0;
  const phase = async () => (await owner.get('/clusters/prod')).body.phase;
  let written = 0;
  const fill = async (bytes: number) => {
    while ((await size()) < bytes)
      await Promise.all(
        Array.from({ length: 8 }, () => member!.ask('/v3/kv/put', { key: encoded(`/filler/${written++}`), value: filler }).catch(() => {})),
      );
  };
  for (const share of [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.955])
    await t.test(`its file has ${share} of its quota`, () => fill(share * 2 ** 30));
  await t.test('it is degraded, and refuses', async () => {
    await eventually(async () => (await phase()) === 'degraded', patience);
    await untilRefused(admin);
  });
  await t.test('a tenant who takes the policy away gets it back', async () => {
    const binding = `${bindings}/${fullStoreBinding.metadata.name}`;
    assert.equal(await statusOf(admin, 'DELETE', binding), 200);
    await eventually(async () => (await statusOf(admin, 'GET', binding)) === 200, patience);
  });
  // Deleted, and compacted as the apiserver does every five minutes.
  await t.test('it has room again', async () => {
    await member!.ask('/v3/kv/deleterange', { key: encoded('/filler/'), range_end: encoded('/filler0') });
    const { revision } = (await members())[0]!.status!;
    await member!.ask('/v3/kv/compaction', { revision, physical: true });
    await eventually(async () => (await size()) > 0 && (await size()) < 0.5 * 2 ** 30, patience);
  });
  await t.test('it takes writes', async () => {
    await eventually(async () => (await statusOf(admin, 'PATCH', `${maps}/stays`, { data: { a: 'c' } }, merge)) === 200, patience);
    await eventually(async () => (await phase()) === 'ready', patience);
  });
});

test('an etcd at its quota takes writes again once its datastore is larger', { timeout: 3_600_000 }, async (t) => {
  const { owner, admin, members } = await dedicatedCluster(t, {});
  const [member] = await members();
  const encoded = (text: string | Buffer) => Buffer.from(text).toString('base64');
  const value = encoded(Buffer.alloc(2 ** 20, 7));
  const isAtQuota = async () => (await members())[0]?.status?.errors.some((error) => error.includes('NOSPACE'));
  for (let n = 0; !(await isAtQuota()); n += 40)
    await Promise.all(
      Array.from({ length: 40 }, (_, at) => member!.ask('/v3/kv/put', { key: encoded(`/filler/${n + at}`), value }).catch(() => {})),
    );
  assert.notEqual(await statusOf(admin, 'POST', maps, map(randomName())), 201);
  assert.equal((await owner.patch('/clusters/prod', { datastore: { storageGiB: 2 } })).status, 200);
  await eventually(async () => (await statusOf(admin, 'POST', maps, map(randomName()))) === 201, patience);
  await eventually(async () => (await owner.get('/clusters/prod')).body.phase === 'ready', patience);
  assert.equal(await statusOf(admin, 'POST', maps, map(randomName())), 201);
});
