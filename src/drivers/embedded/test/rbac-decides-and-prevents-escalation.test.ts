import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMap, embedded, issue } from './support.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const maps = '/api/v1/namespaces/team/configmaps';

test('roles decide permissions, and no user grants more than the user holds', async (t) => {
  const { call, as, ca, another } = await embedded(t);
  await call('POST', '/api/v1/namespaces', { metadata: { name: 'team' } });
  const alice = as(issue(ca, 'alice', ['devs']));
  const bind = (name: string, kind: string, role: string, user: string, by = call) =>
    by('POST', `${rbac}/namespaces/team/rolebindings`, {
      metadata: { name },
      subjects: [{ kind: 'User', name: user }],
      roleRef: { kind, name: role },
    });

  const refusal = await alice('GET', maps);
  assert.equal(refusal.status, 403);
  assert.equal(
    refusal.body.message,
    'configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "team"',
  );

  await bind('view', 'ClusterRole', 'view', 'alice');
  assert.equal((await alice('GET', maps)).status, 200);
  assert.equal((await alice('POST', maps, configMap('a'))).status, 403);
  assert.equal((await alice('GET', '/api/v1/namespaces/team/secrets')).status, 403, 'viewers see no secrets');
  assert.equal((await alice('GET', '/api/v1/namespaces/default/configmaps')).status, 403, 'nor other namespaces');

  // A revocation on another server holds here with the next request.
  const elsewhere = (await another()).as(issue(ca, 'root', ['system:masters']));
  assert.equal((await elsewhere('DELETE', `${rbac}/namespaces/team/rolebindings/view`)).status, 200);
  assert.equal((await alice('GET', maps)).status, 403);

  await bind('admin', 'ClusterRole', 'admin', 'alice');
  assert.equal((await alice('POST', maps, configMap('a'))).status, 201);
  const role = (name: string, rules: unknown[]) => alice('POST', `${rbac}/namespaces/team/roles`, { metadata: { name }, rules });
  assert.equal((await role('mine', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }])).status, 201);
  const greedy = await role('greedy', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]);
  assert.equal(greedy.status, 403, greedy.text);
  assert.match(greedy.body.message, /attempting to grant RBAC permissions not currently held/);
  assert.equal((await bind('up', 'ClusterRole', 'cluster-admin', 'alice', alice)).status, 403);
  assert.equal((await bind('down', 'ClusterRole', 'view', 'bob', alice)).status, 201);
  assert.equal((await alice('PATCH', `${rbac}/clusterroles/view`, {}, { 'content-type': 'application/merge-patch+json' })).status, 403);

  // Roles aggregate, also transitively.
  const extra = {
    metadata: { name: 'extra', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
    rules: [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['list'] }],
  };
  assert.equal((await call('POST', `${rbac}/clusterroles`, extra)).status, 201);
  const bob = as(issue(ca, 'bob'));
  assert.equal((await bob('GET', '/apis/coordination.k8s.io/v1/namespaces/team/leases')).status, 200);
  assert.ok(JSON.stringify((await call('GET', `${rbac}/clusterroles/admin`)).body.rules).includes('coordination.k8s.io'));
  await call('DELETE', `${rbac}/clusterroles/extra`);
  assert.equal((await bob('GET', '/apis/coordination.k8s.io/v1/namespaces/team/leases')).status, 403);

  const may = async (spec: object, by = alice) =>
    (await by('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { spec })).body.status;
  assert.equal((await may({ resourceAttributes: { verb: 'create', resource: 'configmaps', namespace: 'team' } })).allowed, true);
  assert.equal((await may({ resourceAttributes: { verb: 'create', resource: 'nodes' } })).allowed, false);

  const anonymous = as();
  for (const path of ['/healthz', '/livez', '/readyz', '/version']) assert.equal((await anonymous('GET', path)).status, 200, path);
  for (const path of ['/api', '/apis', '/api/v1/namespaces', '/openapi/v3']) assert.equal((await anonymous('GET', path)).status, 403, path);
  assert.equal((await as('nonsense')('GET', '/version')).status, 401, 'a bad token is not the anonymous user');

  // Impersonation needs a permission.
  assert.equal((await call('GET', maps, undefined, { 'impersonate-user': 'bob' })).status, 200);
  assert.equal((await call('GET', '/api/v1/nodes', undefined, { 'impersonate-user': 'bob' })).status, 403);
  assert.equal((await alice('GET', maps, undefined, { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' })).status, 403);
});
