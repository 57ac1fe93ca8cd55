import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminOf, kube, type Way } from '../../../src/areas/clusters/test/support.ts';
import { eventually } from '../../harness/process.ts';
import { dedicatedCluster } from './clusters-support.ts';
import { patience } from './kubernetes-support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const map = (name: string, more: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...more } });
const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'mine' }, spec: { holderIdentity: 'me' } };
const merge = 'application/merge-patch+json';

const statusOf = async (way: Way, method: string, path: string, body?: unknown, type?: string) =>
  (await kube(way, method, path, body, type)).status;

test('an etcd that is 95 % full takes deletions, leases and node status, and all again once there is room', {
  timeout: 900_000,
}, async (t) => {
  const { owner, admin, members } = await dedicatedCluster(t, {});
  assert.equal(await statusOf(admin, 'POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1' } }), 201);
  for (const made of [map('goes'), map('held', { finalizers: ['example.com/held'] }), map('stays')])
    assert.equal(await statusOf(admin, 'POST', maps, made), 201);
  const [member] = await members();
  const encoded = (text: string | Buffer) => Buffer.from(text).toString('base64');
  const filler = encoded(Buffer.alloc(2 ** 20, 7));
  const size = async () => (await members())[0]!.status!.fileBytes;
  let written = 0;
  const fill = async (bytes: number) => {
    while ((await size()) < bytes)
      await Promise.all(
        Array.from({ length: 8 }, () => member!.ask('/v3/kv/put', { key: encoded(`/filler/${written++}`), value: filler })),
      );
  };
  // In portions, each of which the test runner hears of.
  for (const share of [0.2, 0.4, 0.6, 0.8, 0.9, 0.955]) await t.test(`its file has ${share} of its quota`, () => fill(share * 2 ** 30));
  await eventually(async () => (await owner.get('/clusters/prod')).body.phase === 'degraded', patience);
  // The apiservers hear of the policy a moment later.
  await eventually(async () => (await statusOf(admin, 'POST', maps, map(`more-${Math.random().toString(36).slice(2)}`))) === 403, patience);
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
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { nonResourceAttributes: { path: '/', verb: 'get' } },
  };
  assert.equal(await statusOf(admin, 'POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review), 201);
  assert.equal(await statusOf(admin, 'DELETE', `${maps}/goes`), 200);
  // One with a finalizer goes when that is taken off, which is a change of an object that is being deleted.
  assert.equal(await statusOf(admin, 'DELETE', `${maps}/held`), 200);
  assert.equal(await statusOf(admin, 'PATCH', `${maps}/held`, { metadata: { finalizers: null } }, merge), 200);
  assert.equal(await statusOf(admin, 'GET', `${maps}/held`), 404);
  // A tenant who takes the rule away gets it back.
  const bindings = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/quarterdeck-datastore-full';
  assert.equal(await statusOf(admin, 'DELETE', bindings), 200);
  await eventually(async () => (await statusOf(admin, 'GET', bindings)) === 200, patience);

  // Room again: deleted, and compacted as the apiserver does every five minutes.
  await member!.ask('/v3/kv/deleterange', { key: encoded('/filler/'), range_end: encoded('/filler0') });
  const { revision } = (await members())[0]!.status!;
  await member!.ask('/v3/kv/compaction', { revision, physical: true });
  await eventually(async () => (await owner.get('/clusters/prod')).body.phase === 'ready', patience);
  await eventually(async () => (await statusOf(admin, 'PATCH', `${maps}/stays`, { data: { a: 'c' } }, merge)) === 200, patience);
  assert.equal(await statusOf(admin, 'GET', bindings), 404);
  assert.ok((await size()) < 0.5 * 2 ** 30, 'its file was made smaller');
  assert.equal((await adminOf(owner, 'prod')).server, admin.server);
});
