import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMap, embedded } from './support.ts';

test('unsupported requests are refused with the reason and a remedy', async (t) => {
  const { call } = await embedded(t);
  const maps = '/api/v1/namespaces/default/configmaps';
  const deployment = await call('POST', '/apis/apps/v1/namespaces/default/deployments', { metadata: { name: 'a' } });
  assert.equal(deployment.status, 405);
  assert.match(deployment.body.message, /embedded and runs no pods, so it takes no Deployment objects/);
  assert.match(
    (
      await call('POST', '/api/v1/namespaces/default/pods', Buffer.from('k8s\0junk'), {
        'content-type': 'application/vnd.kubernetes.protobuf',
      })
    ).body.message,
    /runs no pods/,
  );
  assert.match((await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {})).body.message, /no custom resources/);
  const apply = await call('PATCH', `${maps}/a?fieldManager=x`, 'apiVersion: v1', { 'content-type': 'application/apply-patch+yaml' });
  assert.equal(apply.status, 415);
  assert.match(apply.body.message, /server-side apply is not served.*--server-side=false/);
  assert.equal((await call('GET', '/apis/metrics.k8s.io/v1beta1/nodes')).status, 404);

  // Unknown fields are reported, refused or ignored, as `fieldValidation` says.
  const odd = { ...configMap('odd'), spec: { replicas: 1 }, metadata: { name: 'odd', nmae: 'x' } };
  const warned = await call('POST', `${maps}?dryRun=All`, odd);
  assert.equal(warned.status, 201, warned.text);
  assert.match(String(warned.headers['warning']), /unknown field \\"metadata.nmae\\"/);
  assert.equal((await call('POST', `${maps}?fieldValidation=Strict`, odd)).status, 400);
  assert.equal((await call('POST', `${maps}?fieldValidation=Ignore&dryRun=All`, odd)).headers['warning'], undefined);
  assert.equal((await call('GET', `${maps}/odd`)).status, 404, 'a dry run leaves nothing');
  assert.equal((await call('POST', maps, { ...configMap('a'), data: { a: 1 } })).status, 400);
  assert.equal((await call('POST', maps, { ...configMap('a'), kind: 'Secret' })).status, 400);
  assert.equal((await call('POST', maps, configMap('Not_A_Name'))).status, 422);
  assert.equal((await call('POST', '/api/v1/namespaces/nowhere/configmaps', configMap('a'))).status, 404);
  assert.equal((await call('POST', maps, configMap('a', {}, { 'a b': 'c' }))).status, 422);

  const named = await call('POST', maps, { metadata: { generateName: 'made-' } });
  assert.match(named.body.metadata.name, /^made-[a-z0-9]{5}$/);
  const uid = { preconditions: { uid: 'x' } };
  assert.equal((await call('DELETE', `${maps}/${named.body.metadata.name}`, uid)).status, 409);
  const frozen = await call('POST', maps, { ...configMap('frozen', { a: '1' }), immutable: true });
  assert.equal((await call('PUT', `${maps}/frozen`, { ...frozen.body, data: { a: '2' } })).status, 422);

  // Both event groups serve the same events.
  const events = '/apis/events.k8s.io/v1/namespaces/default/events';
  const event = {
    metadata: { name: 'e' },
    regarding: { kind: 'ConfigMap', name: 'a', namespace: 'default' },
    note: 'hello',
    reason: 'R',
    reportingController: 'c',
    type: 'Normal',
  };
  assert.equal((await call('POST', events, event)).status, 201);
  const core = (await call('GET', '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Da')).body.items;
  assert.equal(core[0].message, 'hello');
  assert.equal((await call('GET', `${events}/e`)).body.note, 'hello');
});
