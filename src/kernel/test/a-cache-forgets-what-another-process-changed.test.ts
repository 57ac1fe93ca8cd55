// alone: it measures what the process holds in memory
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type DropCache, makeCaches } from '../cache.ts';
import type { Tx } from '../db/index.ts';
import { fakeListener, later } from './fake-listener.ts';

const filled = (value: string, ...topics: string[]) => ({ value, topics });

/** Listeners are called in a microtask, which runs before this one continues. */
const told = () => Promise.resolve();

/** Counts how often the value was read. */
function counted(cache: DropCache<string>) {
  let asked = 0;
  return {
    get: (key: string, ...topics: string[]) => cache.get(key, async () => filled(`${key} ${++asked}`, ...topics)),
    get asked() {
      return asked;
    },
  };
}

test('a topic takes every entry that hangs on it, in every cache, and no other', async () => {
  const fake = fakeListener();
  const caches = makeCaches(fake.listener);
  const [first, second] = [caches.make<string>(), caches.make<string>()];
  const [one, two] = [counted(first), counted(second)];
  await one.get('a', 'user 1', 'org 1');
  await one.get('b', 'user 2', 'org 1');
  await two.get('a', 'user 1');
  assert.equal(await one.get('a'), 'a 1');

  fake.drop('user 1');
  assert.equal(first.peek('a'), undefined);
  assert.equal(second.peek('a'), undefined);
  assert.equal(first.peek('b'), 'b 2');
  fake.drop('org 1');
  assert.equal(first.peek('b'), undefined);

  await one.get('c', 'user 3');
  fake.drop('*');
  assert.equal(first.peek('c'), undefined);
});

test('a drop of our own is told to others inside the transaction, and obeyed here once it has committed', async () => {
  const caches = makeCaches(fakeListener().listener);
  const cache = caches.make<string>();
  await cache.get('a', async () => filled('old', 'user 1'));
  const said: unknown[] = [];
  const after: (() => void)[] = [];
  const tx = {
    query: async ({ values }: { values: unknown[] }) => {
      said.push(values);
      return { rows: [], rowCount: 1 };
    },
    afterCommit: (act: () => void) => after.push(act),
  };

  await caches.drop(tx as unknown as Tx, 'user 1');
  assert.deepEqual(said, [['qd_drop', 'user 1']]);
  assert.equal(cache.peek('a'), 'old');
  for (const act of after) act();
  assert.equal(cache.peek('a'), undefined);
});

test('a fill that began before a drop is not cached, and later callers do not join it', async () => {
  const fake = fakeListener();
  const cache = makeCaches(fake.listener).make<string>();
  const slow = later<string>();
  const before = cache.get('a', async () => filled(await slow.promise, 'user 1'));
  const joined = cache.get('a', () => assert.fail('one fill at a time for a key'));

  fake.drop('user 1'); // the slow fill has read the old value by now
  const after = cache.get('a', async () => filled('new', 'user 1'));
  assert.equal(await after, 'new');
  slow.resolve('old');
  assert.deepEqual([await before, await joined], ['old', 'old']);
  assert.equal(cache.peek('a'), 'new');
});

test('while deaf nothing is remembered, believed or shared', async () => {
  const fake = fakeListener();
  const cache = makeCaches(fake.listener).make<string>();
  const ask = counted(cache);
  await ask.get('a');

  fake.silent(true); // no listener was notified yet, but the silence has lasted too long
  assert.equal(cache.peek('a'), undefined);
  assert.equal(await ask.get('a'), 'a 2');
  assert.deepEqual(await Promise.all([ask.get('a'), ask.get('a')]), ['a 3', 'a 4']);

  fake.become(false);
  fake.become(true);
  assert.equal(cache.peek('a'), undefined);
  await ask.get('a');
  assert.equal(await ask.get('a'), 'a 5');
});

test('a fill under way when hearing is lost or found again is not kept', async () => {
  for (const change of [false, true]) {
    const fake = fakeListener();
    fake.silent(change);
    const cache = makeCaches(fake.listener).make<string>();
    const slow = later<string>();
    const filling = cache.get('a', async () => filled(await slow.promise));
    fake.become(change);
    slow.resolve('read in between');
    await filling;
    fake.silent(false);
    assert.equal(cache.peek('a'), undefined);
  }
});

test('an entry ends with its own time or the cache’s, whichever is first', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const cache = makeCaches(fakeListener().listener).make<string>({ ttlMs: 100 });
  await cache.get('short', async () => ({ ...filled('x'), ttlMs: 30 }));
  await cache.get('long', async () => ({ ...filled('x'), ttlMs: 1_000_000 }));
  now = 29;
  assert.equal(cache.peek('short'), 'x');
  now = 30;
  assert.equal(cache.peek('short'), undefined);
  now = 99;
  assert.equal(cache.peek('long'), 'x');
  now = 100;
  assert.equal(cache.peek('long'), undefined);
});

test('drop listeners are called when a value goes: dropped, evicted, expired, or never cached', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const fake = fakeListener();
  const cache = makeCaches(fake.listener).make<string>({ max: 2 });
  const gone: string[] = [];
  cache.onDrop((value) => gone.push(value));
  const ask = counted(cache);
  await ask.get('a', 'user 1');
  await ask.get('b', 'user 2');
  await ask.get('c', 'user 3');
  assert.deepEqual(gone.splice(0), ['a 1']);
  fake.drop('user 2');
  assert.equal(cache.peek('b'), undefined);
  await told();
  assert.deepEqual(gone.splice(0), ['b 2']);

  fake.become(false);
  await told();
  assert.deepEqual(gone.splice(0), ['c 3']);
  await ask.get('d'); // no notification comes when this one changes …
  assert.deepEqual(gone, []);
  t.mock.timers.tick(1_000); // … so it must be read again soon
  assert.deepEqual(gone, ['d 4']);
});

test('what was crowded out leaves nothing behind: neither a topic that strikes its successor nor memory', async () => {
  const fake = fakeListener();
  const cache = makeCaches(fake.listener).make<string>({ max: 2 });
  const ask = counted(cache);
  await ask.get('a', 'old topic');
  await ask.get('b');
  await ask.get('c');
  await ask.get('a', 'new topic');
  fake.drop('old topic');
  assert.equal(cache.peek('a'), 'a 4');

  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heap = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  for (let n = 0; n < 1_000; n++) await ask.get(`${n}`, `topic ${n}`);
  const before = heap();
  for (let n = 1_000; n < 60_000; n++) await ask.get(`${n}`, `topic ${n}`);
  const grown = heap() - before;
  assert.ok(cache.peek('59999')); // looked at after the measuring, so that it is there to be measured
  assert.ok(grown < 2_000_000, `${grown} bytes for topics of entries that are gone`);
});

test('values may be bounded by their size as well: the oldest give way, and one that is too big alone is not kept', async () => {
  const fake = fakeListener();
  const cache = makeCaches(fake.listener).make<string>({ bytes: { of: (value) => value.length, most: 100 } });
  const keep = (key: string, length: number) => cache.get(key, async () => filled(key.padEnd(length), key));
  await keep('a', 60);
  await keep('b', 40);
  assert.deepEqual([cache.peek('a')?.length, cache.peek('b')?.length], [60, 40]);
  await keep('c', 30);
  assert.deepEqual([cache.peek('a'), cache.peek('b')?.length, cache.peek('c')?.length], [undefined, 40, 30]);
  assert.equal((await keep('huge', 101))?.length, 101);
  assert.equal(cache.peek('huge'), undefined);
  assert.equal(cache.peek('c')?.length, 30);
  fake.drop('huge');
});

test('where bytes count, the number of values is bounded all the same', async () => {
  const fake = fakeListener();
  const cache = makeCaches(fake.listener).make<string>({ max: 2, bytes: { of: (value) => value.length, most: 1_000 } });
  for (const key of ['a', 'b', 'c']) await cache.get(key, async () => filled(key, key));
  assert.deepEqual([cache.peek('a'), cache.peek('b'), cache.peek('c')], [undefined, 'b', 'c']);
});

test('a fill that fails fails for those who wait, and the next one asks again', async () => {
  const cache = makeCaches(fakeListener().listener).make<string>();
  await assert.rejects(
    cache.get('a', () => Promise.reject(new Error('away'))),
    /away/,
  );
  assert.equal(await cache.get('a', async () => filled('x')), 'x');
  assert.equal(await cache.get('none', async () => undefined), undefined);
  assert.equal(cache.peek('none'), undefined);
});

test('a caller after an insert finds the value, also while an older fill is in flight', async () => {
  const cache = makeCaches(fakeListener().listener).make<string>();
  let truth: string | undefined;
  const slow = Promise.withResolvers<void>();
  const before = cache.get('a', async () => {
    const seen = truth;
    await slow.promise;
    return seen === undefined ? undefined : filled(seen);
  });
  truth = 'made';
  const after = cache.get('a', async () => filled(truth!));
  slow.resolve();
  assert.deepEqual(await Promise.all([before, after]), [undefined, 'made']);
});
