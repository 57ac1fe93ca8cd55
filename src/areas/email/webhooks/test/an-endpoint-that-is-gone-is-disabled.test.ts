import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { deliveriesOf, endpointAt, listening, ofLoopback, suppressAnAddress, untilDelivery } from './listening.ts';

test('an endpoint that is gone is disabled, what waits for it fails with the reason, and enabled again it hears what is new', async (t) => {
  const qd = await quarterdeck(t, { env: ofLoopback });
  const { owner, clock } = qd;
  const endpoint = await listening(t);
  const { id } = await endpointAt(owner, endpoint.url, 'suppression.created');
  const shown = async () => (await owner.get('/email/webhooks')).body.webhooks[0];

  // One waits for its next attempt while the other hears 410.
  endpoint.answer = (response) => response.writeHead(503, { 'retry-after': '3600' }).end('later');
  await suppressAnAddress(owner);
  await untilDelivery(owner, (d) => d.attempts === 1 && d.state === 'pending');
  endpoint.answer = (response) => response.writeHead(410).end();
  await suppressAnAddress(owner);
  await untilDelivery(owner, (d) => d.state === 'failed' && d.lastStatus === 410);
  assert.deepEqual([(await shown()).disabled, (await shown()).disabledReason], [true, 'it answered 410 Gone']);
  for (let tries = 0; (await deliveriesOf(owner)).some((d) => d.state !== 'failed'); tries++) {
    assert.ok(tries < 200);
    await sleep(25);
  }
  assert.match((await deliveriesOf(owner))[1]!.lastError!, /^the endpoint is disabled: it answered 410 Gone$/);
  const { body: log } = await owner.get('/organization/audit?limit=50');
  assert.ok(JSON.stringify(log).includes('email.webhook.disable'));

  // Disabled, it hears nothing, and a redelivery says why.
  const before = endpoint.told.length;
  await suppressAnAddress(owner);
  const [waiting] = await deliveriesOf(owner);
  await owner.post(`/email/webhook-deliveries/${waiting!.id}/redeliver`);
  const refused = await untilDelivery(owner, (d) => d.state === 'failed' && d.id > waiting!.id);
  assert.match(refused.lastError!, /the endpoint is disabled: it answered 410 Gone/);
  assert.equal(refused.attempts, 0);
  assert.equal(endpoint.told.length, before);

  endpoint.answer = (response) => response.writeHead(500).end();
  const enabled = await owner.patch(`/email/webhooks/${id}`, { disabled: false });
  assert.deepEqual([enabled.status, enabled.body.disabled, enabled.body.disabledReason], [200, false, undefined]);

  // Five days of nothing but failures; one success in between begins them anew.
  await suppressAnAddress(owner);
  await untilDelivery(owner, (d) => d.attempts === 1 && d.state === 'pending');
  await clock.advance('4d');
  endpoint.answer = (response) => response.writeHead(200).end();
  await suppressAnAddress(owner);
  await untilDelivery(owner, (d) => d.state === 'delivered');
  await untilDelivery(owner, (d) => d.state === 'delivered', `?endpointId=${id}&limit=1`);
  endpoint.answer = (response) => response.writeHead(500).end();
  await suppressAnAddress(owner);
  await untilDelivery(owner, (d) => d.attempts === 1 && d.state === 'pending');
  await clock.advance('4d');
  await suppressAnAddress(owner);
  await untilDelivery(owner, (d) => d.attempts === 1 && d.state === 'pending');
  assert.equal((await shown()).disabled, false);
  await clock.advance('25h');
  await suppressAnAddress(owner);
  await untilDelivery(owner, (d) => d.state === 'failed');
  assert.deepEqual([(await shown()).disabled, (await shown()).disabledReason], [true, 'nothing but failures for 5 days']);
});
