import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeLoopWatch } from '../../../../../kernel/fairness/index.ts';
import { batchCalls } from '../../../engine/batch-calls.ts';
import { makeInFlightArrivals } from '../../engine/in-flight.ts';

test('calls during a batch share the next one, and a failed batch fails alone', async () => {
  const batches: number[][] = [];
  let goOn = () => {};
  const act = async (items: number[]) => {
    batches.push(items);
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
    if (items.includes(3)) throw new Error('three');
    return items.map((item) => 10 * item);
  };
  const gathered = batchCalls({ watch: makeLoopWatch() }, act, { name: 'some act', minIntervalMs: 1 });
  const first = [gathered(1), gathered(2)];
  while (batches.length < 1) await new Promise(setImmediate);
  const second = [gathered(3), gathered(4)].map((each) => each.catch((error: Error) => error.message));
  goOn();
  assert.deepEqual(await Promise.all(first), [10, 20]);
  while (batches.length < 2) await new Promise(setImmediate);
  goOn();
  assert.deepEqual(await Promise.all(second), ['three', 'three']);
  const third = gathered(5);
  while (batches.length < 3) await new Promise(setImmediate);
  goOn();
  assert.equal(await third, 50);
  assert.deepEqual(batches, [[1, 2], [3, 4], [5]]);
});

const arrivalOf = (id: number, bytes: number, lease = '') => ({
  id,
  lease,
  org_id: 'org_a',
  message_id: '',
  route_id: null,
  endpoint_id: null,
  recipient_id: null,
  attempts: 1,
  envelope: { mailFrom: '', rcptTo: [], remoteIp: '', helo: '', tls: null },
  body_key: '',
  body_offset: 0,
  body_bytes: bytes,
  raw: Buffer.alloc(bytes),
});

test('one organization has half of the slots, and bytes are kept within their budget', () => {
  const held = makeInFlightArrivals();
  const places = held.freeSlots;
  let mine = 0;
  while (held.reserve('org_a')) mine++;
  assert.deepEqual([mine, held.freeSlots], [places / 2, places / 2]);
  assert.ok(held.reserve('org_b'), 'the others are for others');
  held.release('org_b');

  const kept = Array.from({ length: mine }, (_, id) => held.add(arrivalOf(id, 65_536)));
  const bytes = kept.reduce((sum, { raw }) => sum + (raw?.length ?? 0), 0);
  assert.ok(bytes > 0 && bytes <= 8 * 2 ** 20, `${bytes}`);
  for (const each of kept) held.remove(each);
  assert.equal(held.freeSlots, places);
  assert.equal(held.add(arrivalOf(1, 65_537)).raw, undefined, 'what is larger is read again');
  held.close();
  assert.equal(held.reserve('org_b'), false);
});

test('organizations at their limits leave slots for the next one', () => {
  const held = makeInFlightArrivals();
  for (const org of ['org_a', 'org_b', 'org_c']) while (held.reserve(org));
  assert.ok(held.freeSlots > 0);
  assert.ok(held.reserve('org_d'));
});

test('an item claimed again after its own lease lapsed has one slot, and frees it once', () => {
  const held = makeInFlightArrivals();
  const places = held.freeSlots;
  const twice = ['first', 'second'].map((lease) => {
    held.reserveClaimed('org_a');
    return held.add(arrivalOf(1, 60_000, lease));
  });
  assert.equal(held.freeSlots, places - 1);
  held.remove(twice[0]!);
  assert.deepEqual([...held.items.values()], [twice[1]], 'the one that has the lease is still worked on');
  held.remove(twice[1]!);
  assert.deepEqual([held.freeSlots, held.byOrg.size], [places, 0]);
  const more = Array.from({ length: 140 }, (_, id) => held.add(arrivalOf(id, 60_000)));
  assert.equal(more.filter(({ raw }) => raw).length, Math.floor((8 * 2 ** 20) / 60_000), 'and no bytes are counted of what is gone');
});
