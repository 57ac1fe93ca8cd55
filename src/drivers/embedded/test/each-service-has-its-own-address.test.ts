import assert from 'node:assert/strict';
import { test } from 'node:test';
import { embedded } from './support.ts';

const services = '/api/v1/namespaces/default/services';
const service = (name: string, spec: object = {}) => ({ metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } });

test('each service has its own address', async (t) => {
  const { call } = await embedded(t);
  assert.equal((await call('GET', `${services}/kubernetes`)).body.spec.clusterIP, '10.96.0.1');
  const made = await call('POST', services, service('a'));
  assert.equal(made.status, 201, made.text);
  const { clusterIP, clusterIPs, type } = made.body.spec;
  assert.match(clusterIP, /^10\.(9[6-9]|10\d|11[01])\./);
  assert.deepEqual([clusterIPs, type, made.body.spec.ports[0].protocol], [[clusterIP], 'ClusterIP', 'TCP']);
  for (const taken of ['10.96.0.1', clusterIP, '192.168.0.1', 'x'])
    assert.equal((await call('POST', services, service('b', { clusterIP: taken }))).status, 422, taken);
  assert.equal((await call('POST', services, service('headless', { clusterIP: 'None' }))).body.spec.clusterIP, 'None');

  const merge = { 'content-type': 'application/merge-patch+json' };
  const open = await call('PATCH', `${services}/a`, { spec: { type: 'NodePort' } }, merge);
  const { nodePort } = open.body.spec.ports[0];
  assert.ok(nodePort >= 30_000 && nodePort <= 32_767, open.text);
  assert.equal(open.body.spec.clusterIP, clusterIP, 'it keeps its address');
  assert.equal((await call('POST', services, service('c', { type: 'NodePort', ports: [{ port: 80, nodePort }] }))).status, 422);

  // Released addresses can be allocated again.
  await call('DELETE', `${services}/a`);
  const next = await call('POST', services, service('c', { type: 'NodePort', clusterIP, ports: [{ port: 80, nodePort }] }));
  assert.equal(next.status, 201, next.text);
  assert.equal((await call('POST', services, service('Bad'))).status, 422);
  assert.equal((await call('POST', services, service('d', { ports: [{ port: 0 }] }))).status, 422);
});
