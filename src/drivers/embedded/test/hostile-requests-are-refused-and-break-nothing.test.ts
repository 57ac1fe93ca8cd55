import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../../../../test/harness/any-text.ts';
import { embedded } from './support.ts';

const kinds: [path: string, kind: string][] = [
  ['/api/v1/namespaces/default/configmaps', 'ConfigMap'],
  ['/api/v1/namespaces/default/secrets', 'Secret'],
  ['/api/v1/namespaces/default/services', 'Service'],
  ['/api/v1/namespaces/default/events', 'Event'],
  ['/api/v1/namespaces/default/serviceaccounts', 'ServiceAccount'],
  ['/api/v1/namespaces/default/serviceaccounts/default/token', 'TokenRequest'],
  ['/api/v1/namespaces/default/endpoints', 'Endpoints'],
  ['/api/v1/nodes', 'Node'],
  ['/api/v1/namespaces', 'Namespace'],
  ['/apis/events.k8s.io/v1/namespaces/default/events', 'Event'],
  ['/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', 'EndpointSlice'],
  ['/apis/coordination.k8s.io/v1/namespaces/default/leases', 'Lease'],
  ['/apis/certificates.k8s.io/v1/certificatesigningrequests', 'CertificateSigningRequest'],
  ['/apis/rbac.authorization.k8s.io/v1/clusterroles', 'ClusterRole'],
  ['/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', 'RoleBinding'],
  ['/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 'SelfSubjectAccessReview'],
  ['/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', 'SelfSubjectRulesReview'],
  ['/apis/authentication.k8s.io/v1/tokenreviews', 'TokenReview'],
];
const words = fc.constantFrom(
  'metadata',
  'name',
  'spec',
  'status',
  'data',
  'rules',
  'subjects',
  'roleRef',
  'ports',
  'labels',
  'type',
  'conditions',
  '__proto__',
  'request',
  'token',
  'x',
);
const values = fc.constantFrom<unknown>(
  null,
  '',
  'a',
  'a'.repeat(300),
  0,
  -1,
  1e300,
  true,
  [],
  {},
  [null],
  '\u0000',
  '😀',
  '../../..',
  'None',
  'NodePort',
);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    values,
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(words, tie('json'), { maxKeys: 4 }),
  ),
}));
const object = fc.record(
  {
    metadata: fc.oneof(
      json,
      fc.record(
        {
          name: fc.constantFrom('a', 'b', 'A', '', '..', 'x'.repeat(254)),
          labels: json,
          finalizers: json,
          ownerReferences: json,
        },
        { requiredKeys: [] },
      ),
    ),
    spec: json,
    status: json,
    data: json,
    rules: json,
    subjects: json,
    roleRef: json,
  },
  { requiredKeys: [] },
);
const types = [
  'application/json',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'application/vnd.kubernetes.protobuf',
  'text/plain',
];

test('hostile requests are refused and break nothing', async (t) => {
  const { call, as, cluster } = await embedded(t);
  const allowed = (status: number, what: unknown) =>
    assert.ok(status < 500 || status === 504, `${status} for ${JSON.stringify(what)?.slice(0, 600)}`);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...kinds),
      object,
      fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE'),
      fc.constantFrom(...types),
      async ([path], body, method, type) => {
        const target = method === 'POST' ? path : `${path}/a`;
        const { status } = await call(method, target, JSON.stringify(body), { 'content-type': type });
        allowed(status, [method, target, type, body]);
      },
    ),
    { numRuns: 400, endOnFailure: true },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('labelSelector', 'fieldSelector', 'limit', 'continue', 'resourceVersion', 'resourceVersionMatch', 'dryRun'),
      anyText({ maxLength: 50 }),
      async (name, text) => {
        const { status } = await call('GET', `${kinds[0]![0]}?${name}=${encodeURIComponent(text.toWellFormed())}`);
        allowed(status, [name, text]);
      },
    ),
    { numRuns: 150, endOnFailure: true },
  );
  // An anonymous client's selector is not parsed; other clients are told the limits.
  const spaces = encodeURIComponent(`a=${' '.repeat(2_000)}=`);
  assert.equal((await as()('GET', `/api/v1/nodes?fieldSelector=${spaces}`)).status, 403);
  assert.equal((await call('GET', `/api/v1/nodes?fieldSelector=${spaces}`)).status, 400);
  assert.equal((await call('GET', `/api/v1/nodes?labelSelector=${','.repeat(8_100)}`)).status, 400);
  assert.equal((await call('GET', `/version${'/'.repeat(8_000)}`)).status, 200);
  assert.equal((await call('GET', `/version${'/'.repeat(8_000)}x`)).status, 404);
  for (const each of [as(), call]) assert.equal((await each('GET', `/api/v1/nodes?${'a&'.repeat(4_096)}`)).status, 414);
  const deep = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`;
  assert.equal((await call('POST', kinds[0]![0], deep)).status, 400);
  assert.equal(
    (await call('POST', kinds[0]![0], `{"metadata":{"name":"a"},"data":{${Array.from({ length: 120_000 }, (_, n) => `"k${n}":""`)}}}`))
      .status,
    400,
  );
  assert.equal((await call('POST', kinds[0]![0], Buffer.alloc(4_000_000, 0x20))).status, 413);
  assert.equal((await call('POST', kinds[0]![0], { metadata: { name: 'big' }, data: { a: 'x'.repeat(1_600_000) } })).status, 422);
  assert.equal((await call('POST', kinds[0]![0], '{"metadata":{"name":"z"},"data":{"a":"\\u0000"}}')).status, 201);
  assert.equal((await call('GET', `${kinds[0]![0]}/z`)).body.data.a, '\u0000');
  for (const path of [
    '/api/v1/namespaces/%00/configmaps',
    '/api/v1/namespaces/default/configmaps/%ff',
    '/api/v1/namespaces/default/configmaps/%00',
    '/apis/x/y/z',
    '//',
    '/api/v1/namespaces/default/configmaps/a/b/c',
  ])
    allowed((await call('GET', path)).status, path);
  assert.equal((await call('BREW', '/api/v1/nodes').catch(() => ({ status: 405 }))).status < 500, true);
  assert.equal(cluster.figures().errors, 0, 'nothing failed on our side');
});
