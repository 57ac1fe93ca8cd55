import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { deliveriesOf, endpointAt, isSigned, listening, ofLoopback, suppressAnAddress, untilDelivery, untilNext } from './listening.ts';

const minute = 60;
const hour = 60 * minute;
const delays = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour];

test('a failed delivery is retried on schedule, ten times, with the same bytes under the same id', { timeout: 120_000 }, async (t) => {
  const qd = await quarterdeck(t, { env: ofLoopback });
  const endpoint = await listening(t);
  endpoint.answer = (response) => response.writeHead(500, { 'content-type': 'text/plain' }).end(`broken \0 ${'x'.repeat(10_000)}`);
  const { secret } = await endpointAt(qd.owner, endpoint.url, 'suppression.created');
  await suppressAnAddress(qd.owner);

  const first = await untilDelivery(qd.owner, (d) => d.attempts === 1 && d.state === 'pending');
  assert.equal(first.lastStatus, 500);
  assert.match(first.lastError!, /^500: broken {3}x{100}/);
  assert.ok(first.lastError!.length <= 4_096);
  for (const [n, delay] of delays.entries()) {
    const next = await untilNext(qd);
    assert.ok(next > delay - 5 && next <= delay * 1.2, `${next} s after attempt ${n + 1}, not ${delay}`);
    assert.equal(endpoint.told.length, n + 1);
    await qd.clock.advance(`${Math.ceil(next)}s`);
    await endpoint.heard(n + 2);
    await untilDelivery(qd.owner, (d) => d.attempts === n + 2 && d.state !== 'delivering');
  }
  const [last] = await deliveriesOf(qd.owner);
  assert.deepEqual([last!.state, last!.attempts], ['failed', 10]);
  assert.equal(last!.deliveredAt, undefined);

  assert.equal(new Set(endpoint.told.map(({ id }) => id)).size, 1);
  assert.equal(new Set(endpoint.told.map(({ body }) => body)).size, 1);
  assert.equal(new Set(endpoint.told.map(({ timestamp }) => timestamp)).size, 10, 'each says when it was made');
  assert.ok(endpoint.told.every((told) => isSigned(told, secret)));

  // Again by hand: a new delivery of the same bytes, signed with what the secret is by then.
  endpoint.answer = (response) => response.writeHead(200).end('thanks');
  const { body: rotated } = await qd.owner.post(`/email/webhooks/${last!.endpointId}/rotate-secret`);
  const again = await qd.owner.post(`/email/webhook-deliveries/${last!.id}/redeliver`);
  assert.equal(again.status, 202);
  assert.notEqual(again.body.id, last!.id);
  const [told] = (await endpoint.heard(11)).slice(10);
  assert.deepEqual([told!.id, told!.body], [endpoint.told[0]!.id, endpoint.told[0]!.body]);
  assert.ok(isSigned(told!, rotated.signingSecret));
  assert.ok(!isSigned(told!, secret));
  const done = await untilDelivery(qd.owner, (d) => d.state === 'delivered');
  assert.deepEqual([done.id, done.attempts, done.lastStatus, done.lastError], [again.body.id, 1, 200, undefined]);
  assert.equal((await qd.owner.post('/email/webhook-deliveries/999999/redeliver')).status, 404);
  const other = await qd.organization('others');
  assert.equal((await other.post(`/email/webhook-deliveries/${last!.id}/redeliver`)).status, 404);
});
