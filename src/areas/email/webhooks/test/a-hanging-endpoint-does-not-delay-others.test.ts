import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { type DeliverySlot, makeEndpointLimiter, type Postponement } from '../engine/endpoint-limiter.ts';
import { deliveriesOf, endpointAt, listening, ofLoopback, suppressAnAddress } from './listening.ts';

test('a hanging endpoint delays neither other organizations nor other endpoints of its own', { timeout: 60_000 }, async (t) => {
  const qd = await quarterdeck(t, { env: ofLoopback });
  const other = await qd.organization('others');
  const [hanging, quick, foreign] = [await listening(t), await listening(t), await listening(t)];
  const held: (() => void)[] = [];
  hanging.answer = (response) => held.push(() => response.writeHead(204).end());
  await endpointAt(qd.owner, hanging.url, 'suppression.created');
  for (let n = 0; n < 60; n++) await suppressAnAddress(qd.owner, `somebody-${n}@far.example`);
  await hanging.heard(4);

  await endpointAt(qd.owner, quick.url, 'suppression.deleted');
  await endpointAt(other, foreign.url, 'suppression.created');
  await suppressAnAddress(other);
  await foreign.heard(1);
  const { body } = await qd.owner.get('/email/suppressions?limit=1');
  await qd.owner.delete(`/email/suppressions/${body.suppressions[0].id}`);
  await quick.heard(1);
  assert.equal(hanging.told.length, 4, 'it is given no more at once until it answers');
  assert.equal(held.length, 4);

  // Once it answers, it gets what waits: those that were sent off come back within minutes.
  hanging.answer = (response) => response.writeHead(204).end();
  for (const end of held) end();
  for (let rounds = 0; hanging.told.length < 60 && rounds < 40; rounds++) {
    await qd.clock.advance('30s');
    await new Promise((next) => setTimeout(next, 100));
  }
  await hanging.heard(60);
  assert.equal(new Set(hanging.told.map(({ id }) => id)).size, 60);
  assert.ok((await deliveriesOf(qd.owner)).length >= 60);
});

/** Starts a request at once; the endpoint answers when the slot is released. */
async function requestThrough(slot: DeliverySlot & Postponement): Promise<{ release(): Promise<void>; retryInSeconds?: number }> {
  if (!('release' in slot)) return slot;
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  const asked = slot.measure(() => answered);
  return {
    release: async () => {
      resolve();
      await asked;
      slot.release();
    },
  };
}

test('a quick endpoint gets more concurrent requests, a slow one fewer, and postponed deliveries return spaced out', async () => {
  let now = 0;
  const limiter = makeEndpointLimiter({ clock: () => now, random: () => 0 });
  const take = async () => requestThrough((await limiter.acquire('whk_1')) as DeliverySlot & Postponement);
  const takeAll = async (count: number) => Promise.all(Array.from({ length: count }, take));

  const unknown = await takeAll(4);
  assert.ok(unknown.every((p) => 'release' in p));
  now += 10;
  for (const slot of unknown) await slot.release();
  // Sixteen of them hang.
  const slow = await takeAll(16);
  assert.ok(slow.every((p) => 'release' in p));
  now += 15_000;
  assert.ok((await take()).retryInSeconds! > 0, 'the seventeenth is postponed at once');
  for (const slot of slow) await slot.release();
  const [a, b] = await takeAll(2);
  assert.ok('release' in a! && 'release' in b!, 'two are still tried');
  const postponed = (await takeAll(200)).map((p) => p.retryInSeconds!);
  assert.deepEqual(
    postponed,
    postponed.toSorted((x, y) => x - y),
  );
  assert.ok(postponed[0]! >= 7 && postponed[0]! <= 20);
  assert.equal(postponed.at(-1), 600, 'however many there are, after ten minutes at the latest');
  now += 5;
  await a!.release();
  assert.ok('release' in (await take()), 'a quick answer, and it gets more again');
});
