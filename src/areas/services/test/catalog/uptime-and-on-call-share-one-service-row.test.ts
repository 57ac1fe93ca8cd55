import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { type Caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';

test('a service created in uptime or on-call exists in both, with a case-insensitive name', async (t) => {
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

test('of several concurrent requests for one name, one succeeds', async (t) => {
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
  const { owner, organization, app } = await quarterdeck(t);
  await app.db.write(async (tx) => {
    await run(tx)`insert into uptime.vantage (id, label, created_at) values ('local', 'local', kernel.now()) on conflict do nothing`;
    await run(tx)`insert into uptime.instance (id, vantage, version, standby, connected_at, seen_at)
      values (${randomUUID()}, 'local', 'test', true, kernel.now(), '2200-01-01T00:00:00Z')`;
  });
  const made = async (answer: ReturnType<Caller['post']>): Promise<string> => {
    const { status, body } = await answer;
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  };
  const monitor = (by: Caller, name: string, serviceId: string) =>
    made(
      by.post('/uptime/monitors', {
        name,
        serviceId,
        kind: 'http',
        enabled: false,
        intervalSeconds: 60,
        vantages: ['local'],
        http: { url: 'https://shop.example/health' },
      }),
    );
  const id = await made(owner.post('/uptime/services', { name: 'shop' }));
  const monitors = [await monitor(owner, 'front', id), await monitor(owner, 'back', id)];
  const source = await made(owner.post('/oncall/alert-sources', { name: 'prometheus', serviceId: id }));
  const incident = await made(owner.post('/oncall/incidents', { serviceId: id, title: 'checkout is down' }));
  // What uses services of others does not count.
  const other = await organization('other');
  await monitor(other, 'theirs', await made(other.post('/uptime/services', { name: 'shop' })));
  await monitor(owner, 'elsewhere', await made(owner.post('/uptime/services', { name: 'mail' })));

  const refusedFor = async (references: string) => {
    const refused = await owner.delete(`/uptime/services/${id}`);
    assert.equal(refused.status, 409);
    assert.equal(refused.body.error, `the service shop is still used by ${references}; detach or delete those first`);
    assert.equal((await owner.get('/uptime/services')).body.services.length, 2);
  };
  const ofOncall = 'the alert source prometheus, the incident “checkout is down”, which is not resolved';
  await refusedFor(`the monitor front, the monitor back, ${ofOncall}`);
  for (const monitorId of monitors) assert.equal((await owner.delete(`/uptime/monitors/${monitorId}`)).status, 204);
  await refusedFor(ofOncall);
  assert.equal((await owner.delete(`/oncall/alert-sources/${source}`)).status, 204);
  await refusedFor('the incident “checkout is down”, which is not resolved');
  assert.equal((await owner.post(`/oncall/incidents/${incident}/resolve`)).status, 200);

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

  await app.db.write(async (tx) => {
    await run(tx)`update identity.org set entitlements = '{email}' where id = ${owner.orgId}`;
    await app.caches.drop(tx, `org ${owner.orgId}`);
  });
  const closed = await owner.get('/uptime/services');
  assert.equal(closed.status, 403);
  assert.match(closed.body.error, /is not enabled for this organization; ask the operator to enable it/);
  assert.equal((await owner.post('/oncall/services', { name: 'mail' })).status, 201);
});
