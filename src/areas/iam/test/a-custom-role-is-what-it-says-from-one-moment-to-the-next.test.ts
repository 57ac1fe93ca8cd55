import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtinRoles, services as catalogued } from '../../../../contract/permissions.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';

test('a custom role takes effect as it changes, and is deleted only without holders', async (t) => {
  const { owner, member, narrowed } = await quarterdeck(t);
  const bob = await member(owner, 'member');
  const made = await owner.post('/iam/roles', { name: ' Watchers ', description: 'who watch', permissions: ['uptime.service.read'] });
  assert.equal(made.status, 201);
  const { id, ...role } = made.body;
  assert.equal(made.headers.get('location'), `/api/v1/iam/roles/${id}`);
  assert.deepEqual(role, {
    name: 'Watchers',
    description: 'who watch',
    kind: 'custom',
    scopable: true,
    permissions: ['uptime.service.read'],
  });
  assert.equal((await owner.post('/iam/roles', { name: 'WATCHERS', permissions: ['uptime.service.read'] })).status, 409);

  const grant = (await owner.post('/iam/grants', { subject: bob.userId, role: id })).body;
  const token = await narrowed(owner, [{ role: id }]);
  for (const who of [bob, token]) {
    assert.equal((await who.get('/uptime/services')).status, 200);
    assert.equal((await who.post('/uptime/services', { name: 'x' })).status, 403);
  }

  // A tier brings the lower ones with it: write is enough to read.
  assert.equal((await owner.patch(`/iam/roles/${id}`, { permissions: ['uptime.service.write'] })).status, 200);
  for (const [who, name] of [
    [bob, 'a'],
    [token, 'b'],
  ] as const) {
    assert.equal((await who.get('/uptime/services')).status, 200);
    assert.equal((await who.post('/uptime/services', { name })).status, 201);
  }
  const wider = (await owner.patch(`/iam/roles/${id}`, { permissions: ['uptime.service.read', 'iam.role.admin'] })).body;
  assert.equal(wider.scopable, false); // part of it knows no resources

  const other = (await owner.post('/iam/roles', { name: 'Other', permissions: ['email.key.read'] })).body;
  assert.equal((await owner.patch(`/iam/roles/${other.id}`, { name: 'watchers' })).status, 409);
  assert.equal((await owner.patch(`/iam/roles/${other.id}`, { name: 'OTHER' })).status, 200); // its own name in other letters
  assert.equal((await owner.patch(`/iam/roles/${other.id}`, {})).body.name, 'OTHER');

  const held = await owner.delete(`/iam/roles/${id}`);
  assert.equal(held.status, 409);
  assert.equal(held.body.error, 'the role Watchers is still granted once; take those grants away first');
  assert.equal((await owner.delete(`/iam/grants/${grant.id}`)).status, 204);
  assert.equal((await owner.delete(`/iam/roles/${id}`)).status, 204);
  assert.equal((await token.get('/uptime/services')).status, 403); // narrowed to what is no more: nothing
  const shown = (await owner.get('/tokens')).body.tokens.find((x: { id: string }) => x.id === token.tokenId);
  assert.deepEqual(shown.scope, [{ role: id, roleName: id, resourceIds: [] }]);
});

test('built-in roles stand, and unknown permissions are refused', async (t) => {
  const { owner, member } = await quarterdeck(t);
  for (const [method, body] of [
    ['PATCH', { name: 'x' }],
    ['DELETE', undefined],
  ] as const) {
    const answer = await owner.request(method, '/iam/roles/uptime.viewer', body);
    assert.equal(answer.status, 403);
    assert.match(answer.body.error, /is built in and cannot be changed; make a custom role instead/);
  }
  for (const permissions of [['uptime.service.fly'], ['__proto__'], ['']])
    assert.equal((await owner.post('/iam/roles', { name: 'x', permissions })).status, 400);
  assert.equal((await owner.post('/iam/roles', { name: 'x', permissions: [] })).status, 400);

  const clerk = await member(owner, 'member');
  const { services } = (await clerk.get('/iam/permissions')).body;
  assert.deepEqual(
    services.map((s: { service: string }) => s.service),
    Object.keys(catalogued),
  );
  const { roles } = (await clerk.get('/iam/roles')).body;
  assert.deepEqual(
    roles.filter((r: { kind: string }) => r.kind === 'builtin').map((r: { id: string }) => r.id),
    builtinRoles.map((r) => r.id),
  );
  assert.equal((await clerk.get('/iam/catalog')).status, 403);
  const catalog = (await owner.get('/iam/catalog')).body;
  assert.deepEqual(catalog.roles, roles);
});
