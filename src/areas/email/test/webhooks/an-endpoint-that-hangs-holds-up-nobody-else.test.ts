import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { makePace, type Place, type SentOff } from '../../engine/webhooks/pace.ts';
import { deliveriesOf, endpointAt, listening, ofLoopback, suppressSomebody } from './listening.ts';

test('an endpoint that hangs holds up neither another organization nor the other endpoints of its own', { timeout: 60_000 }, async (t) => {
  const qd = await quarterdeck(t, { env: ofLoopback });
  const other = await qd.organization('others');
  const [hanging, quick, foreign] = [await listening(t), await listening(t), await listening(t)];
  const held: (() => void)[] = [];
  hanging.answer = (response) => held.push(() => response.writeHead(204).end());
  await endpointAt(qd.owner, hanging.url, 'suppression.created');
  for (let n = 0; n < 60; n++) await suppressSomebody(qd.owner, `somebody-${n}@far.example`);
  await hanging.heard(4);

  await endpointAt(qd.owner, quick.url, 'suppression.deleted');
  await endpointAt(other, foreign.url, 'suppression.created');
  await suppressSomebody(other);
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

/** Asks the endpoint at once; it answers when the place is given back. */
async function askAt(place: Place & SentOff): Promise<{ end(): Promise<void>; inSeconds?: number }> {
  if (!('end' in place)) return place;
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  const asked = place.ask(() => answered);
  return {
    end: async () => {
      resolve();
      await asked;
      place.end();
    },
  };
}

test('an endpoint gets more at once while it is quick, less while it is slow, and what is sent off comes back one by one', async () => {
  let now = 0;
  const pace = makePace({ clock: () => now, random: () => 0 });
  const take = async () => askAt((await pace.take('whk_1')) as Place & SentOff);
  const takeAll = async (count: number) => Promise.all(Array.from({ length: count }, take));

  const unknown = await takeAll(4);
  assert.ok(unknown.every((p) => 'end' in p));
  now += 10;
  for (const place of unknown) await place.end();
  // Sixteen of them hang.
  const slow = await takeAll(16);
  assert.ok(slow.every((p) => 'end' in p));
  now += 15_000;
  assert.ok((await take()).inSeconds! > 0, 'the seventeenth is sent off at once');
  for (const place of slow) await place.end();
  const [a, b] = await takeAll(2);
  assert.ok('end' in a! && 'end' in b!, 'two are still tried');
  const sentOff = (await takeAll(200)).map((p) => p.inSeconds!);
  assert.deepEqual(
    sentOff,
    sentOff.toSorted((x, y) => x - y),
  );
  assert.ok(sentOff[0]! >= 7 && sentOff[0]! <= 20);
  assert.equal(sentOff.at(-1), 600, 'however many there are, after ten minutes at the latest');
  now += 5;
  await a!.end();
  assert.ok('end' in (await take()), 'a quick answer, and it gets more again');
});
