import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeConnectionSlots } from '../connection-slots.ts';

/** Connections by name: `a1` is of address `a`. */
function makeParty(most: { each: number; all: number }) {
  const room = makeConnectionSlots(most);
  const sentAway: string[] = [];
  const enter = (name: string, { isBusy = false, isAtWork = false } = {}) =>
    room.acquire(name[0]!, { evict: () => sentAway.push(name), isBusy: () => isBusy, isAmidMessage: () => isBusy || isAtWork });
  return { room, sentAway, enter };
}

test('the oldest that has not shown who it is goes for a newcomer, and an address never has more than its part', () => {
  const { room, sentAway, enter } = makeParty({ each: 2, all: 4 });
  for (const name of ['a1', 'b1', 'a2', 'b2']) assert.ok(enter(name));
  assert.equal(enter('a3'), undefined, 'two of an address, full or not');
  assert.ok(enter('c1'));
  assert.deepEqual([sentAway, room.size], [['a1'], 4]);
});

test('the oldest of the address with the most is evicted: a churn of new connections evicts no other address', () => {
  const { sentAway, enter } = makeParty({ each: 20, all: 10 });
  enter('h1');
  for (let n = 0; n < 100; n++) assert.ok(enter(`a${n}`));
  assert.ok(!sentAway.includes('h1'));
  assert.equal(sentAway.length, 91);
});

test('who logged in, or sent a message, goes last, and only while idle', () => {
  const { room, sentAway, enter } = makeParty({ each: 5, all: 3 });
  const first = enter('a1')!;
  const second = enter('b1', { isAtWork: true })!;
  first.markKnown();
  second.markKnown();
  enter('c1');
  enter('d1');
  assert.deepEqual(sentAway, ['c1']);
  const third = enter('e1')!;
  third.markKnown();
  assert.deepEqual(sentAway, ['c1', 'd1']);
  assert.ok(enter('f1'), 'only known connections are left: the idle one is evicted');
  assert.deepEqual(sentAway, ['c1', 'd1', 'a1']);
  first.release();
  first.markKnown();
  assert.equal(room.size, 3, 'who was sent away is counted once');
});

test('who waits for our answer stays, and if all do the newcomer is refused', () => {
  const { sentAway, enter } = makeParty({ each: 5, all: 2 });
  enter('a1', { isBusy: true });
  const other = enter('b1', { isBusy: true })!;
  assert.equal(enter('c1'), undefined);
  other.release();
  assert.ok(enter('c1'));
  assert.deepEqual(sentAway, []);
});

test('who is in the middle of a message stays while another could go', () => {
  const { sentAway, enter } = makeParty({ each: 5, all: 4 });
  enter('g1', { isAtWork: true });
  enter('g2', { isAtWork: true });
  enter('a1');
  enter('b1');
  enter('c1');
  enter('d1');
  assert.deepEqual(sentAway, ['a1', 'b1']);
});

test('messages that never end do not close the door: an address with many loses its oldest', () => {
  const { sentAway, enter } = makeParty({ each: 4, all: 6 });
  for (const name of ['h1', 'a1', 'a2', 'a3', 'b1', 'b2']) enter(name, { isAtWork: true })!.markKnown();
  const newcomer = enter('n1', { isAtWork: true });
  assert.deepEqual(sentAway, ['a1']);
  newcomer!.markKnown();
  assert.ok(enter('m1', { isAtWork: true }), 'two of a are still more than one of m');
  assert.equal(sentAway.length, 2);
  assert.ok(!sentAway.includes('h1'));
});

test('a connection at work is not evicted for an address that would have as many', () => {
  const { sentAway, enter } = makeParty({ each: 4, all: 3 });
  for (const name of ['a1', 'b1', 'c1']) enter(name, { isAtWork: true })!.markKnown();
  assert.equal(enter('n1'), undefined);
  assert.deepEqual(sentAway, []);
});
