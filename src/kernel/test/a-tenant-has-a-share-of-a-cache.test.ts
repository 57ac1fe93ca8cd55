import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DropCache, makeCaches } from '../cache.ts';
import { fakeListener } from './fake-listener.ts';

const remember = async (cache: DropCache<string>, key: string, tenant: string, value = key) =>
  void (await cache.get(key, async () => ({ value, topics: [tenant], tenant })));
const kept = (cache: DropCache<string>, keys: readonly string[]) => keys.filter((key) => cache.peek(key) !== undefined);

test('a tenant that fills a cache pushes out its own oldest, and nothing of the others', async () => {
  const fake = fakeListener();
  const cache = makeCaches(fake.listener).make<string>({ max: 40 });
  const quiet = Array.from({ length: 10 }, (_, n) => `quiet ${n}`);
  for (const key of quiet) await remember(cache, key, 'quiet');
  const loud = Array.from({ length: 1_000 }, (_, n) => `loud ${n}`);
  for (const key of loud) await remember(cache, key, 'loud');
  assert.deepEqual(kept(cache, quiet), quiet);
  assert.deepEqual(kept(cache, loud), loud.slice(-10), 'a quarter, the newest');

  fake.drop('loud');
  assert.deepEqual(kept(cache, loud), []);
  for (const key of loud.slice(0, 10)) await remember(cache, key, 'loud');
  assert.equal(kept(cache, loud).length, 10, 'what was dropped does not count any more');
});

test('where bytes count, a tenant has a quarter of the bytes', async () => {
  const cache = makeCaches(fakeListener().listener).make<string>({ max: 1_000, bytes: { of: (value) => value.length, most: 400 } });
  await remember(cache, 'small', 'quiet');
  for (let n = 0; n < 50; n++) await remember(cache, `loud ${n}`, 'loud', 'x'.repeat(30));
  assert.equal(kept(cache, ['small']).length, 1);
  assert.equal(
    kept(
      cache,
      Array.from({ length: 50 }, (_, n) => `loud ${n}`),
    ).length,
    3,
  );
});
