import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientUsages, csrs, kubelet, signingRequest } from './signing-requests.ts';
import { embedded, makeRequest } from './support.ts';

test('cases of Kubernetes’ conformance suite for reviews and certificate requests', async (t) => {
  const { call } = await embedded(t);

  // A review is no list of objects: who takes tables alone is told so, who takes objects too gets one.
  const review = { spec: { nonResourceAttributes: { path: '/', verb: 'get' } } };
  const reviewAs = (accept: string) => call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review, { accept });
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const refused = await reviewAs(table);
  assert.deepEqual([refused.status, refused.body.reason], [406, 'NotAcceptable'], refused.text);
  for (const accept of [`${table},application/json`, '*/*', 'application/vnd.kubernetes.protobuf,application/json', ''])
    assert.equal((await reviewAs(accept)).body.status.allowed, true, accept);

  // The subresource `approval` takes annotations, as `status` does; the request itself stays as it was.
  const { pem } = makeRequest('system:node:a', ['system:nodes']);
  await call('POST', csrs, signingRequest('a', pem, kubelet, clientUsages));
  const before = (await call('GET', `${csrs}/a`)).body;
  const patch = {
    metadata: { annotations: { seen: 'yes' } },
    spec: { username: 'eve' },
    status: { conditions: [{ type: 'Seen', status: 'True' }] },
  };
  const patched = await call('PATCH', `${csrs}/a/approval`, patch, { 'content-type': 'application/merge-patch+json' });
  assert.equal(patched.status, 200, patched.text);
  assert.deepEqual(patched.body.metadata.annotations, { seen: 'yes' });
  assert.deepEqual([patched.body.spec, patched.body.metadata.uid], [before.spec, before.metadata.uid]);
  assert.deepEqual(
    patched.body.status.conditions.map(({ type }: { type: string }) => type),
    ['Seen'],
  );
});
