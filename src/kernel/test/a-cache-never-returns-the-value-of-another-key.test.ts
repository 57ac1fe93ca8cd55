import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LRUCache } from 'lru-cache';
import { type Caches, type DropCache, makeCaches } from '../cache.ts';
import { fakeListener } from './fake-listener.ts';

interface Kept {
  key: string;
  serial: number;
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a listener that asks again while a stale entry goes leaves every key its own value', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const cache = makeCaches(fakeListener().listener).make<Kept>();
  const fill = (key: string) => cache.get(key, async () => ({ value: { key, serial: now }, topics: [] }));
  // Like a download whose credential is looked up again: it reads the same key as soon as it is dropped.
  cache.onDrop(({ key }) => void (cache.peek(key) ?? fill(key)));
  await fill('slow download');
  now = 60_000;
  assert.equal(cache.peek('slow download'), undefined); // one more request with the same key
  await turn();
  const keys = ['slow download', 'key of a', 'key of b', 'key of c'];
  for (const key of keys) await fill(key);
  for (const key of keys) assert.equal(cache.peek(key)?.key, key);
});

test('listeners are told outside the cache, when the value is gone', async () => {
  const fake = fakeListener();
  const cache = makeCaches(fake.listener).make<Kept>({ max: 2 });
  const seen: unknown[] = [];
  cache.onDrop(({ key }) => seen.push([key, cache.peek(key), /lru-cache/.test(new Error().stack ?? '')]));
  const keys = ['a', 'b', 'c'];
  for (const key of keys) await cache.get(key, async () => ({ value: { key, serial: 0 }, topics: [key] }));
  fake.drop('b');
  fake.drop('*');
  await turn();
  assert.deepEqual(
    seen,
    keys.map((key) => [key, undefined, false]),
  );
});

test('an entry that says it belongs to another key is no answer, whatever the library below says', async (t) => {
  const logged: unknown[] = [];
  const cache = makeCaches(fakeListener().listener, { error: (fields: unknown) => void logged.push(fields) }).make<Kept>();
  for (const key of ['mine', 'yours']) await cache.get(key, async () => ({ value: { key, serial: 0 }, topics: [] }));
  const real = LRUCache.prototype.get;
  const mixed = t.mock.method(LRUCache.prototype, 'get', function (this: LRUCache<string, object>) {
    return real.call(this, 'yours');
  });
  assert.equal(cache.peek('mine'), undefined);
  mixed.mock.restore();
  assert.equal(cache.peek('yours'), undefined, 'after such a defect nothing in it is believed');
  assert.deepEqual(logged, [{ event: 'cache.mixed-up' }]);
});

/** The actions of a drop listener, and of the walk itself. */
type Step =
  | { do: 'fill'; key: string; ttlMs: number }
  | { do: 'peek' | 'drop'; key: string }
  | { do: 'clear' }
  | { do: 'wait'; ms: number }
  | { do: 'deaf'; for: number };

const someKey = fc.constantFrom(...'abcdefgh');
const someStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('fill' as const), key: someKey, ttlMs: fc.constantFrom(5, 50, 500) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('peek' as const, 'drop' as const), key: someKey }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 10, 100) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('deaf' as const), for: fc.constantFrom(0, 10) }) },
);

/** The expected state of each key: the last value read, its expiry, and whether it was dropped since. */
class Model {
  readonly last = new Map<string, { serial: number; staleAt: number }>();
  serial = 0;

  judge(key: string, found: Kept | undefined, now: number) {
    if (!found) return; // dropping is always allowed
    assert.equal(found.key, key, 'a value of another key');
    const known = this.last.get(key);
    assert.ok(known, `${key} was dropped, and is still answered`);
    assert.equal(found.serial, known.serial, 'an older value than the last one');
    assert.ok(now < known.staleAt, 'a value past its time');
  }
}

function walker(caches: Caches, fake: ReturnType<typeof fakeListener>, cache: DropCache<Kept>, clock: { now: number }) {
  const model = new Model();
  const forgetAll = () => model.last.clear();
  const take = async (step: Step): Promise<void> => {
    switch (step.do) {
      case 'peek':
        return model.judge(step.key, cache.peek(step.key), clock.now);
      case 'drop':
        model.last.delete(step.key);
        return fake.drop(step.key);
      case 'clear':
        forgetAll();
        return caches.dropAll();
      case 'wait':
        clock.now += step.ms;
        return;
      case 'deaf':
        forgetAll();
        fake.become(false);
        clock.now += step.for;
        return fake.become(true);
      case 'fill': {
        const { key, ttlMs } = step;
        const found = await cache.get(key, async () => {
          const serial = ++model.serial;
          model.last.set(key, { serial, staleAt: clock.now + ttlMs });
          return { value: { key, serial }, topics: [key], ttlMs };
        });
        assert.equal(found?.key, key, 'a value of another key');
      }
    }
  };
  return { model, take };
}

test('no walk over the cache, with listeners that ask, fill and drop from inside, gives a key another one’s value or an old one', async (t) => {
  const clock = { now: 0 };
  t.mock.method(performance, 'now', () => clock.now);
  const walk = fc.asyncProperty(
    fc.array(someStep, { minLength: 5, maxLength: 60 }),
    fc.array(someStep, { minLength: 1, maxLength: 10 }),
    fc.constantFrom({ max: 3 }, { max: 100 }, { max: 5, bytes: { of: () => 3, most: 10 } }),
    async (steps, reactions, options) => {
      clock.now = 0;
      const fake = fakeListener();
      const caches = makeCaches(fake.listener);
      const cache = caches.make<Kept>(options);
      const { model, take } = walker(caches, fake, cache, clock);
      const toldOf = new Map<number, number>();
      const failures: unknown[] = [];
      let reacted = 0;
      let over = false; // drop listeners are called a little later for a value that was not cached
      cache.onDrop(({ key, serial }) => {
        if (over) return;
        toldOf.set(serial, (toldOf.get(serial) ?? 0) + 1);
        model.judge(key, cache.peek(key), clock.now);
        // Each listener re-enters, with a limit: otherwise fills in a full cache would evict each other for ever.
        if (reacted < 100) take(reactions[reacted++ % reactions.length]!).catch((error) => failures.push(error));
      });
      for (const step of steps) await take(step);
      await turn();
      for (const key of 'abcdefgh') model.judge(key, cache.peek(key), clock.now);
      await turn();
      over = true;
      assert.deepEqual(failures, []);
      for (const [serial, times] of toldOf) assert.equal(times, 1, `value ${serial} was said to be gone ${times} times`);
    },
  );
  await fc.assert(walk, { numRuns: 500 });
});
