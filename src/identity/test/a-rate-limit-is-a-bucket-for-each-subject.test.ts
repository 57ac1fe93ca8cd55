import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { rateLimit } from '../rate-limit.ts';

test('a minute’s worth at once, then as fast as it refills, and each subject by itself', () => {
  let now = 0;
  const limit = rateLimit(60, () => now);
  for (let left = 59; left >= 0; left--) assert.deepEqual(limit.take('a'), { allowed: true, remaining: left, resetSeconds: 1 });
  assert.deepEqual(limit.take('a'), { allowed: false, remaining: 0, resetSeconds: 1 });
  assert.equal(limit.take('b').allowed, true);

  now += 999;
  assert.equal(limit.take('a').allowed, false);
  now += 1;
  assert.equal(limit.take('a').allowed, true);
  assert.equal(limit.take('a').allowed, false);
  now += 3_600_000; // an hour of silence earns no more than one bucket
  for (let n = 0; n < 60; n++) assert.equal(limit.take('a').allowed, true);
  assert.equal(limit.take('a').allowed, false);
});

test('a caller that waits as long as it is told gets through', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000 }),
      fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 50 }),
      (perMinute, pauses) => {
        let now = 0;
        const limit = rateLimit(perMinute, () => now);
        for (const pause of pauses) {
          now += pause;
          const { allowed, resetSeconds } = limit.take('a');
          if (allowed) continue;
          assert.ok(resetSeconds >= 1);
          now += resetSeconds * 1_000;
          assert.equal(limit.take('a').allowed, true);
        }
      },
    ),
  );
});

test('over any stretch of time no subject gets more than a bucket and the refill', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 600 }),
      fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 300 }),
      (perMinute, pauses) => {
        let now = 0;
        let allowed = 0;
        const limit = rateLimit(perMinute, () => now);
        for (const pause of pauses) {
          now += pause;
          if (limit.take('a').allowed) allowed++;
        }
        assert.ok(allowed <= perMinute + (now * perMinute) / 60_000 + 1e-6);
      },
    ),
  );
});

test('zero turns it off', () => {
  const limit = rateLimit(0, () => 0);
  for (let n = 0; n < 1_000; n++) assert.equal(limit.take('a').allowed, true);
});
