import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';
import { fakeBinaries } from './support.ts';

const endpoints = '/api/v1/namespaces/default/endpoints/kubernetes';
const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

test('the service kubernetes has endpoints and a slice that lead to the front, and both are corrected', async (t) => {
  const binaries = await fakeBinaries(t);
  const port = await freePort();
  // An address of the documentation range, which is reached as 127.0.0.1 here: Kubernetes takes no loopback address in endpoints.
  const env = {
    QUARTERDECK_CLUSTER_BINARIES: binaries,
    QUARTERDECK_CLUSTER_LISTEN: `0.0.0.0:${port}`,
    QUARTERDECK_PUBLIC_URL: 'http://192.0.2.7:8080',
  };
  const { owner } = await quarterdeck(t, { env });
  await readyCluster(owner, { name: 'prod' });
  const shown = await adminOf(owner, 'prod');
  assert.equal(shown.server, `https://192.0.2.7:${port}`);
  const way = { ...shown, server: `https://127.0.0.1:${port}` };

  const ports = [{ name: 'https', port, protocol: 'TCP' }];
  const found = await kube(way, 'GET', endpoints);
  assert.equal(found.status, 200, JSON.stringify(found.body));
  assert.deepEqual(found.body.subsets, [{ addresses: [{ ip: '192.0.2.7' }], ports }]);
  assert.equal(found.body.metadata.labels['endpointslice.kubernetes.io/skip-mirror'], 'true', 'or a controller makes a second slice');
  const slice = await kube(way, 'GET', `${slices}?labelSelector=kubernetes.io/service-name%3Dkubernetes`);
  assert.deepEqual(
    slice.body.items.map((each: { endpoints: unknown; ports: unknown }) => [each.endpoints, each.ports]),
    [[[{ addresses: ['192.0.2.7'], conditions: { ready: true } }], ports]],
  );

  // As after a restore at another address: the next change of the cluster writes them again.
  const stale = { ...found.body, subsets: [{ addresses: [{ ip: '192.0.2.8' }], ports }] };
  assert.equal((await kube(way, 'PUT', endpoints, stale)).status, 200);
  assert.equal((await owner.patch('/clusters/prod', { replicas: 2 })).status, 200);
  await untilReady(owner, 'prod');
  await eventually(async () => (await kube(way, 'GET', endpoints)).body.subsets[0].addresses[0].ip === '192.0.2.7');
});

test('an embedded cluster has the same endpoints', async (t) => {
  const port = await freePort();
  const env = { QUARTERDECK_CLUSTER_LISTEN: `0.0.0.0:${port}`, QUARTERDECK_PUBLIC_URL: 'http://192.0.2.7:8080' };
  const { owner } = await quarterdeck(t, { env });
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.0+embedded' });
  const way = { ...(await adminOf(owner, 'prod')), server: `https://127.0.0.1:${port}` };
  const { subsets } = (await kube(way, 'GET', endpoints)).body;
  assert.deepEqual(subsets, [{ addresses: [{ ip: '192.0.2.7' }], ports: [{ name: 'https', port, protocol: 'TCP' }] }]);
  const [slice] = (await kube(way, 'GET', `${slices}?labelSelector=kubernetes.io/service-name%3Dkubernetes`)).body.items;
  assert.deepEqual(slice.endpoints[0].addresses, ['192.0.2.7']);
});
