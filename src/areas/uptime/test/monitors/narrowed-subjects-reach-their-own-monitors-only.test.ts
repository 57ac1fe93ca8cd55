import assert from 'node:assert/strict';
import { test } from 'node:test';
import { desk, httpMonitor, made, monitor } from '../agent-context.ts';

const ids = (list: { id: string }[]) => list.map((m) => m.id).sort();

test('who is narrowed to a monitor, or to a service, reaches those and what belongs to them', async (t) => {
  const { owner, narrowed } = await desk(t);
  const [shop, mail] = await Promise.all(['shop', 'mail'].map((name) => made(owner.post('/uptime/services', { name }))));
  const front = await monitor(owner, { name: 'front', serviceId: shop.id });
  const back = await monitor(owner, { name: 'back', serviceId: shop.id });
  const relay = await monitor(owner, { name: 'relay', serviceId: mail.id });
  const alone = await monitor(owner, { name: 'alone' });

  const ofFront = await narrowed(owner, [{ role: 'uptime.editor', resourceIds: [front.id] }]);
  assert.deepEqual(ids((await made(ofFront.get('/uptime/monitors'))).monitors), [front.id]);
  assert.equal((await ofFront.patch(`/uptime/monitors/${front.id}`, { name: 'door' })).status, 200);
  for (const path of ['', '/metrics', '/failures', '/transitions']) {
    assert.equal((await ofFront.get(`/uptime/monitors/${front.id}${path}`)).status, 200, path);
    const other = await ofFront.get(`/uptime/monitors/${back.id}${path}`);
    assert.equal(other.status, 403, path);
    assert.match(other.body.error, new RegExp(`^this needs the permission uptime\\.monitor\\.read on ${back.id};`));
  }
  assert.equal((await ofFront.post('/uptime/monitors', httpMonitor())).status, 403);
  // It could fire alerts of a service that its holder has nothing to do with.
  assert.equal((await ofFront.patch(`/uptime/monitors/${front.id}`, { serviceId: mail.id })).status, 403);

  const ofShop = await narrowed(owner, [{ role: 'uptime.editor', resourceIds: [shop.id] }]);
  assert.deepEqual(ids((await made(ofShop.get('/uptime/monitors'))).monitors), ids([front, back]));
  assert.equal((await ofShop.patch(`/uptime/monitors/${back.id}`, { name: 'yard' })).status, 200);
  assert.equal((await ofShop.delete(`/uptime/monitors/${relay.id}`)).status, 403);
  assert.equal((await ofShop.delete(`/uptime/monitors/${alone.id}`)).status, 403);
  assert.equal((await ofShop.get(`/uptime/services/${shop.id}/availability`)).status, 200);
  assert.equal((await ofShop.get(`/uptime/services/${mail.id}/availability`)).status, 403);

  const options = await made(owner.get('/tokens/scope-options'));
  const offered = options.resources.filter((r: { service: string }) => r.service === 'uptime');
  assert.deepEqual(ids(offered), ids([shop, mail, front, back, relay, alone]));
  const token = await owner.post('/tokens', { name: 'for the front', scope: [{ role: 'uptime.viewer', resourceIds: [front.id] }] });
  assert.equal(token.status, 201);
  await made(owner.delete(`/uptime/monitors/${front.id}`));
  assert.deepEqual((await made(ofFront.get('/uptime/monitors'))).monitors, []);
});
