import assert from 'node:assert/strict';
import { test } from 'node:test';
import { embedded } from './support.ts';

const group = 'rbac.authorization.k8s.io';
const rbac = `/apis/${group}/v1`;
const merge = { 'content-type': 'application/merge-patch+json' };
const subjects = [{ kind: 'ServiceAccount', name: 'eve', namespace: 'default' }];
const binding = (name: string, role: string) => ({
  apiVersion: `${group}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  subjects,
  roleRef: { apiGroup: group, kind: 'ClusterRole', name: role },
});

test('a user with write access to roles gains no permission by a label, a role that does not exist yet, or a subresource', async (t) => {
  const { call, as } = await embedded(t);
  await call('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'eve' } });
  const rules = [
    { verbs: ['*'], apiGroups: ['*'], resources: ['clusterroles', 'clusterrolebindings'] },
    { verbs: ['delete', 'update', 'patch'], apiGroups: [''], resources: ['nodes/status', 'serviceaccounts/token'] },
  ];
  rules[0]!.verbs = ['get', 'list', 'create', 'update', 'patch', 'delete'];
  await call('POST', `${rbac}/clusterroles`, { metadata: { name: 'writes-roles' }, rules });
  for (const role of ['writes-roles', 'view'])
    assert.equal((await call('POST', `${rbac}/clusterrolebindings`, binding(role, role))).status, 201);
  const { token } = (await call('POST', '/api/v1/namespaces/default/serviceaccounts/eve/token', {})).body.status;
  const eve = as(token);

  const label = { metadata: { labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } } };
  assert.equal((await eve('PATCH', `${rbac}/clusterroles/cluster-admin`, label, merge)).status, 403);
  assert.equal((await eve('GET', '/api/v1/secrets')).status, 403);
  assert.equal((await eve('PATCH', `${rbac}/clusterroles/writes-roles`, { metadata: { labels: { mine: 'yes' } } }, merge)).status, 200);
  assert.equal((await eve('PATCH', `${rbac}/clusterroles/admin`, { aggregationRule: null }, merge)).status, 403);

  assert.equal((await eve('POST', `${rbac}/clusterrolebindings`, binding('early', 'not-there-yet'))).status, 404);
  assert.equal((await call('POST', `${rbac}/clusterrolebindings`, binding('early', 'not-there-yet'))).status, 201);

  await call('POST', '/api/v1/nodes', { metadata: { name: 'one' } });
  assert.equal((await eve('DELETE', '/api/v1/nodes/one/status')).status, 405);
  assert.equal((await call('GET', '/api/v1/nodes/one')).status, 200);
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: { name: 'eve' } };
  assert.equal((await eve('PUT', '/api/v1/namespaces/default/serviceaccounts/eve/token', request)).status, 405);
  assert.equal((await call('GET', '/api/v1/namespaces/default/serviceaccounts/eve')).body.kind, 'ServiceAccount');
});
