import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';

test('a grant on a service reaches that service only, and ends with it', async (t) => {
  const { owner, member, clock } = await quarterdeck(t);
  const bob = await member(owner, 'member');
  const shop = (await owner.post('/uptime/services', { name: 'shop' })).body.id;
  await clock.advance('1s');
  const mail = (await owner.post('/uptime/services', { name: 'mail' })).body.id;
  assert.equal((await bob.get('/uptime/services')).status, 403);

  const grant = await owner.post('/iam/grants', { subject: bob.userId, role: 'uptime.editor', resourceIds: [shop] });
  assert.equal(grant.status, 201);
  assert.deepEqual(
    [grant.body.subject, grant.body.role, grant.body.roleName, grant.body.resourceIds],
    [bob.userId, 'uptime.editor', 'Uptime editor', [shop]],
  );
  assert.equal(grant.headers.get('location'), `/api/v1/iam/grants/${grant.body.id}`);

  const seen = async () => (await bob.get('/uptime/services')).body.services.map((s: { id: string }) => s.id);
  assert.deepEqual(await seen(), [shop]);
  assert.equal((await bob.patch(`/uptime/services/${shop}`, { name: 'Shop' })).status, 200);
  for (const [method, body] of [
    ['PATCH', { name: 'mine' }],
    ['DELETE', undefined],
  ] as const) {
    const other = await bob.request(method, `/uptime/services/${mail}`, body);
    assert.equal(other.status, 403);
    assert.equal(
      other.body.error,
      `this needs the permission uptime.service.write on ${mail}; ask an owner or admin of the organization for a role that holds it`,
    );
    assert.equal((await bob.request(method, '/uptime/services/svc_nothing', body)).status, 404);
  }
  const whole = await bob.post('/uptime/services', { name: 'new' });
  assert.equal(whole.status, 403);
  assert.match(whole.body.error, /uptime\.service\.write on the whole organization/);
  assert.equal((await bob.get('/oncall/services')).status, 403);

  // Grants add up; the same one twice is refused, whatever the order of its ids.
  assert.equal((await owner.post('/iam/grants', { subject: bob.userId, role: 'uptime.editor', resourceIds: [shop, shop] })).status, 409);
  const second = await owner.post('/iam/grants', { subject: bob.userId, role: 'uptime.viewer', resourceIds: [mail, shop] });
  assert.equal(second.status, 201);
  assert.equal((await owner.post('/iam/grants', { subject: bob.userId, role: 'uptime.viewer', resourceIds: [shop, mail] })).status, 409);
  assert.deepEqual(await seen(), [mail, shop]);
  assert.equal((await bob.patch(`/uptime/services/${mail}`, { name: 'mine' })).status, 403); // viewer there, editor only of the shop

  assert.deepEqual((await owner.get(`/iam/grants?subject=${bob.userId}`)).body.grants.length, 2);
  assert.deepEqual((await owner.get(`/iam/grants?subject=${owner.userId}`)).body.grants, []);
  assert.equal((await owner.delete(`/iam/grants/${second.body.id}`)).status, 204);
  assert.deepEqual(await seen(), [shop]);
  assert.equal((await owner.delete(`/iam/grants/${grant.body.id}`)).status, 204);
  assert.equal((await bob.get('/uptime/services')).status, 403);
  assert.equal((await owner.delete(`/iam/grants/${grant.body.id}`)).status, 404);
});
