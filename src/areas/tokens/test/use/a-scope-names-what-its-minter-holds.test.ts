import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller, quarterdeck } from '../../../../../test/harness/index.ts';

test('a scope names roles and resources that exist and that its minter holds', async (t) => {
  const { owner, member, organization } = await quarterdeck(t);
  const clerk = await member(owner, 'member');
  const shop = (await owner.post('/uptime/services', { name: 'shop' })).body.id;
  const theirs = (await (await organization('other')).post('/uptime/services', { name: 'theirs' })).body.id;
  const refused: [typeof owner, object, number, RegExp][] = [
    [owner, [{ role: 'uptime.cook' }], 400, /uptime\.cook is not a role; GET \/api\/v1\/iam\/roles lists them/],
    [owner, [{ role: '__proto__' }], 400, /is not a role/],
    [owner, [{ role: 'uptime.viewer', resourceIds: ['svc_nothing'] }], 400, /svc_nothing is not a resource that you can see/],
    [owner, [{ role: 'uptime.viewer', resourceIds: [theirs] }], 400, /is not a resource that you can see/],
    [owner, [{ role: 'admin', resourceIds: [shop] }], 400, /the role admin cannot be narrowed to resources; leave resourceIds out/],
    [owner, [{ role: 'uptime.viewer', resourceIds: [] }], 400, /must not be an empty list; omit it instead/],
    [owner, [], 400, /scope must not be an empty list; omit it instead/],
    [clerk, [{ role: 'uptime.viewer' }], 403, /a caller can give only what they hold/],
    [clerk, [{ role: 'owner' }], 403, /a caller can give only what they hold/],
    [clerk, [{ role: 'uptime.viewer', resourceIds: [shop] }], 400, /is not a resource that you can see/],
  ];
  for (const [who, scope, status, sentence] of refused) {
    const answer = await who.post('/tokens', { name: 'x', scope });
    assert.equal(answer.status, status, JSON.stringify(scope));
    assert.match(answer.body.error, sentence);
  }
});

test('a token narrowed to a service sees and changes that one only', async (t) => {
  const { owner, url } = await quarterdeck(t);
  const [shop, mail] = [
    (await owner.post('/uptime/services', { name: 'shop' })).body.id,
    (await owner.post('/uptime/services', { name: 'mail' })).body.id,
  ];
  const { key, id } = (await owner.post('/tokens', { name: 'shop only', scope: [{ role: 'uptime.editor', resourceIds: [shop, shop] }] }))
    .body;
  const narrow = caller(url, key);

  const shown = (await owner.get('/tokens')).body.tokens.find((x: { id: string }) => x.id === id);
  assert.deepEqual(shown.scope, [{ role: 'uptime.editor', roleName: 'Uptime editor', resourceIds: [shop] }]);
  assert.deepEqual(
    (await narrow.get('/uptime/services')).body.services.map((s: { id: string }) => s.id),
    [shop],
  );
  assert.equal((await narrow.patch(`/uptime/services/${shop}`, { name: 'Shop' })).status, 200);
  const other = await narrow.patch(`/uptime/services/${mail}`, { name: 'mine' });
  assert.equal(other.status, 403);
  assert.match(other.body.error, new RegExp(`uptime\\.service\\.write on ${mail}`));
  assert.equal((await narrow.patch('/uptime/services/svc_nothing', { name: 'x' })).status, 404);
  assert.equal((await narrow.post('/uptime/services', { name: 'new' })).status, 403); // would be beyond it
  assert.equal((await narrow.get('/oncall/services')).status, 403);
  assert.deepEqual((await narrow.get('/tokens/scope-options')).body.resources, [{ service: 'uptime', id: shop, name: 'Shop' }]);

  // The dead id stays, matches nothing, and does not turn into “all”.
  assert.equal((await owner.delete(`/uptime/services/${shop}`)).status, 204);
  assert.deepEqual((await narrow.get('/uptime/services')).body.services, []);
  assert.deepEqual((await owner.get('/tokens')).body.tokens.find((x: { id: string }) => x.id === id).scope[0].resourceIds, [shop]);
});

test('scope options are what the caller may name, and each of them can be named', async (t) => {
  const { owner, member } = await quarterdeck(t);
  const clerk = await member(owner, 'member');
  await owner.post('/uptime/services', { name: 'shop' });
  await owner.post('/iam/grants', { subject: clerk.userId, role: 'uptime.editor' });
  const role = (await owner.post('/iam/roles', { name: 'Watchers', permissions: ['uptime.service.read'] })).body;

  const { roles, resources } = (await clerk.get('/tokens/scope-options')).body;
  assert.deepEqual(roles.map((r: { id: string }) => r.id).sort(), ['member', 'uptime.editor', 'uptime.viewer', role.id].sort());
  assert.deepEqual(
    resources.map((r: { service: string; name: string }) => `${r.service} ${r.name}`),
    ['uptime shop'],
  );
  for (const { id, scopable } of roles) {
    const scope = [{ role: id, ...(scopable ? { resourceIds: [resources[0].id] } : {}) }];
    assert.equal((await clerk.post('/tokens', { name: id, scope })).status, 201, id);
  }
});
