import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';

test('a service made by either door stands behind both, under one name in any letters', async (t) => {
  const { owner, organization, clock } = await quarterdeck(t);
  const shop = await owner.post('/uptime/services', { name: ' Shop ' });
  assert.equal(shop.status, 201);
  assert.equal(shop.headers.get('location'), `/api/v1/uptime/services/${shop.body.id}`);
  assert.deepEqual({ ...shop.body, createdAt: '' }, { id: shop.body.id, name: 'Shop', monitors: 0, createdAt: '' });
  await clock.advance('1s');
  const mail = await owner.post('/oncall/services', { name: 'Mail' });
  assert.equal(mail.status, 201);

  const names = async (door: string) => (await owner.get(`/${door}/services`)).body.services.map((s: { name: string }) => s.name);
  assert.deepEqual(await names('uptime'), ['Mail', 'Shop']);
  assert.deepEqual(await names('oncall'), ['Mail', 'Shop']);

  for (const door of ['uptime', 'oncall']) {
    for (const name of ['shop', 'SHOP', ' Shop']) {
      const taken = await owner.post(`/${door}/services`, { name });
      assert.equal(taken.status, 409);
      assert.equal(taken.body.error, `a service named ${name.trim()} exists; choose another name`);
    }
  }
  assert.equal((await owner.patch(`/uptime/services/${mail.body.id}`, { name: 'sHOP' })).status, 409);
  assert.equal((await owner.patch(`/uptime/services/${mail.body.id}`, { name: 'MAIL' })).body.name, 'MAIL');
  assert.equal((await (await organization('other')).post('/uptime/services', { name: 'Shop' })).status, 201); // a name is the organization’s
});

test('of several who want one name at once, one gets it', async (t) => {
  const { owner } = await quarterdeck(t);
  const made = await Promise.all(
    Array.from({ length: 8 }, (_, n) => owner.post(`/${n % 2 ? 'uptime' : 'oncall'}/services`, { name: n % 3 ? 'shop' : 'SHOP' })),
  );
  assert.deepEqual(made.map((a) => a.status).sort(), [201, 409, 409, 409, 409, 409, 409, 409]);
  // And of several who rename to one name.
  const ids = await Promise.all(['a', 'b', 'c', 'd'].map(async (name) => (await owner.post('/uptime/services', { name })).body.id));
  const renamed = await Promise.all(ids.map((id) => owner.patch(`/uptime/services/${id}`, { name: 'winner' })));
  assert.deepEqual(renamed.map((a) => a.status).sort(), [200, 409, 409, 409]);
});

test('a service that something still refers to is not deleted, and the sentence names what', async (t) => {
  const { owner, app } = await quarterdeck(t);
  const { id } = (await owner.post('/uptime/services', { name: 'shop' })).body;
  const using = new Map<string, string[]>([[id, ['the monitor front', 'the monitor back']]]);
  // As uptime and on-call register theirs.
  app.ports.references.push(async (_tx, org, serviceId) => (org === owner.orgId ? (using.get(serviceId) ?? []) : []));
  app.ports.references.push(async () => (using.size ? ['the incident inc_1'] : []));

  const refused = await owner.delete(`/uptime/services/${id}`);
  assert.equal(refused.status, 409);
  assert.equal(
    refused.body.error,
    'the service shop is still used by the monitor front, the monitor back, the incident inc_1; detach or delete those first',
  );
  assert.equal((await owner.get('/uptime/services')).body.services.length, 1);
  using.clear();
  assert.equal((await owner.delete(`/uptime/services/${id}`)).status, 204);
  assert.equal((await owner.delete(`/uptime/services/${id}`)).status, 404);
  assert.equal((await owner.post('/uptime/services', { name: 'Shop' })).status, 201); // its name is free again
});

test('other organizations’ services do not exist, and uptime’s door is closed without its entitlement', async (t) => {
  const { owner, organization, app } = await quarterdeck(t);
  const other = await organization('other');
  const { id } = (await other.post('/uptime/services', { name: 'theirs' })).body;
  assert.deepEqual((await owner.get('/uptime/services')).body.services, []);
  assert.equal((await owner.patch(`/uptime/services/${id}`, { name: 'mine' })).status, 404);
  assert.equal((await owner.delete(`/uptime/services/${id}`)).status, 404);

  const { run } = await import('../../../../kernel/db.ts');
  await app.db.write(async (tx) => {
    await run(tx)`update identity.org set entitlements = '{email}' where id = ${owner.orgId}`;
    await app.caches.drop(tx, `org ${owner.orgId}`);
  });
  const closed = await owner.get('/uptime/services');
  assert.equal(closed.status, 403);
  assert.match(closed.body.error, /is not enabled for this organization; ask the operator to enable it/);
  assert.equal((await owner.post('/oncall/services', { name: 'mail' })).status, 201);
});
