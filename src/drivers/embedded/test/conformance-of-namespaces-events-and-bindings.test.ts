import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/process.ts';
import { configMap, embedded } from './support.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings';
const merge = { 'content-type': 'application/merge-patch+json' };

test('cases of Kubernetes’ conformance suite for namespaces, events and bindings', async (t) => {
  const { call } = await embedded(t);
  const isGone = (name: string) => eventually(async () => (await call('GET', `/api/v1/namespaces/${name}`)).status === 404);

  // A finalizer of a namespace is set through its subresource, and keeps the namespace.
  const made = (await call('POST', '/api/v1/namespaces', { metadata: { name: 'kept' } })).body;
  const finalizers = [...made.spec.finalizers, 'example.com/fake'];
  const finalized = await call('PUT', '/api/v1/namespaces/kept/finalize', { ...made, spec: { finalizers } });
  assert.equal(finalized.status, 200, finalized.text);
  assert.deepEqual(finalized.body.spec.finalizers, finalizers);
  const wrong = { ...finalized.body, spec: { finalizers: ['a b'] } };
  assert.equal((await call('PUT', '/api/v1/namespaces/kept/finalize', wrong)).status, 422);
  assert.equal((await call('PUT', '/api/v1/namespaces/kept/finalize', { ...made, spec: { finalizers: [] } })).status, 409, 'it is stale');
  const changed = await call('PUT', '/api/v1/namespaces/kept', { metadata: { name: 'kept' }, spec: { finalizers: ['example.com/other'] } });
  assert.deepEqual(changed.body.spec.finalizers, finalizers, 'another way than the subresource changes none');
  assert.equal((await call('DELETE', '/api/v1/namespaces/kept')).status, 200);

  // A namespace that is created with finalizers keeps them beside Kubernetes' own.
  const own = await call('POST', '/api/v1/namespaces', { metadata: { name: 'own' }, spec: { finalizers: ['example.com/fake'] } });
  assert.deepEqual(own.body.spec.finalizers, ['example.com/fake', 'kubernetes'], own.text);
  const bad = await call('POST', '/api/v1/namespaces', { metadata: { name: 'bad' }, spec: { finalizers: ['a b'] } });
  assert.equal(bad.status, 422, bad.text);

  // Namespaces that wait for finalizers do not block the deletion of the next one.
  for (let n = 0; n < 12; n++) {
    await call('POST', '/api/v1/namespaces', { metadata: { name: `a-${n}` } });
    const stuck = configMap('stuck');
    await call('POST', `/api/v1/namespaces/a-${n}/configmaps`, {
      ...stuck,
      metadata: { ...stuck.metadata, finalizers: ['example.com/x'] },
    });
    await call('DELETE', `/api/v1/namespaces/a-${n}`);
  }
  await call('POST', '/api/v1/namespaces', { metadata: { name: 'z' } });
  await call('DELETE', '/api/v1/namespaces/z');
  await isGone('z');
  assert.equal((await call('GET', '/api/v1/namespaces/a-0')).body.status.phase, 'Terminating');
  assert.equal((await call('GET', '/api/v1/namespaces/kept')).body.status.phase, 'Terminating');
  const { body: kept } = await call('GET', '/api/v1/namespaces/kept');
  assert.equal((await call('PUT', '/api/v1/namespaces/kept/finalize', { ...kept, spec: { finalizers: [] } })).status, 200);
  await isGone('kept');

  // Events can be selected by their object and their reporter, in both groups.
  const events = '/apis/events.k8s.io/v1/namespaces/default/events';
  const event = {
    metadata: { name: 'told' },
    reportingController: 'test-controller',
    reportingInstance: 'node-1',
    eventTime: '2026-01-01T00:00:00.000000Z',
    action: 'Do',
    reason: 'Test',
    type: 'Normal',
    regarding: { kind: 'Node', name: 'n1', namespace: 'default' },
  };
  assert.equal((await call('POST', events, event)).status, 201);
  const count = async (path: string, selector: string) =>
    (await call('GET', `${path}?fieldSelector=${encodeURIComponent(selector)}`)).body.items?.length;
  const core = '/api/v1/namespaces/default/events';
  for (const selector of [
    'source=test-controller',
    'reportingComponent=test-controller',
    'involvedObject.name=n1',
    'reason=Test,type=Normal',
  ])
    assert.equal(await count(core, selector), 1, selector);
  for (const selector of ['reportingController=test-controller', 'regarding.name=n1', 'regarding.kind=Node,reason=Test'])
    assert.equal(await count(events, selector), 1, selector);
  assert.equal(await count(core, 'source=other'), 0);
  for (const [path, selector] of [
    [core, 'regarding.name=n1'],
    [core, 'reportingController=test-controller'],
    [events, 'involvedObject.name=n1'],
    [events, 'reportingComponent=test-controller'],
    [events, 'source=test-controller'],
  ] as const) {
    const refused = await call('GET', `${path}?fieldSelector=${encodeURIComponent(selector)}`);
    assert.equal(refused.status, 400, `${path} ${selector}`);
    assert.match(refused.body.message, /field label not supported/);
  }

  // A binding that was created without defaulted fields can be updated with and without them.
  const subject = { kind: 'User', name: 'anna' };
  const binding = { metadata: { name: 'b' }, roleRef: { kind: 'ClusterRole', name: 'view' }, subjects: [subject] };
  assert.equal((await call('POST', rbac, binding)).status, 201);
  const { body: shown } = await call('GET', `${rbac}/b`);
  for (const roleRef of [binding.roleRef, shown.roleRef, { name: 'view', kind: 'ClusterRole', apiGroup: 'rbac.authorization.k8s.io' }]) {
    const changed = await call('PUT', `${rbac}/b`, {
      ...binding,
      roleRef,
      subjects: [subject, { kind: 'User', name: `n${Math.random()}` }],
    });
    assert.equal(changed.status, 200, changed.text);
  }
  assert.equal((await call('PATCH', `${rbac}/b`, { roleRef: { name: 'edit' } }, merge)).status, 422);
});
