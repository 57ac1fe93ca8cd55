import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { requestedDelaySeconds, retryDelaySeconds, siteBackoffSeconds } from '../../rules/retry.ts';

test('retries are quick at first, and then every four hours', () => {
  const minutes = Array.from({ length: 10 }, (_, tries) => retryDelaySeconds(tries, 0.5) / 60);
  assert.deepEqual(minutes, [1, 5, 10, 20, 40, 90, 180, 240, 240, 240]);
});

test('retry delays have 10 % jitter and never shrink', () => {
  fc.assert(
    fc.property(fc.nat(60), fc.double({ min: 0, max: 1, noNaN: true }), (tries, random) => {
      const middle = retryDelaySeconds(tries, 0.5);
      assert.ok(Math.abs(retryDelaySeconds(tries, random) - middle) <= 0.1 * middle + 1);
      assert.ok(retryDelaySeconds(tries + 1, random) >= retryDelaySeconds(tries, random));
    }),
  );
});

test('a delay that the server asks for is granted within bounds', () => {
  for (const [text, seconds] of [
    ['Greylisted, please try again in 300 seconds', 300],
    ['try again in 5 minutes', 300],
    ['Please retry after 2 hours', 7200],
    ['deferred for 90 s', 90],
    ['you have sent 100 messages', undefined],
    ['4.7.1 try again later', undefined],
  ] as const) {
    assert.equal(requestedDelaySeconds(text), seconds, text);
  }
  assert.ok(retryDelaySeconds(0, 0.5, 'try again in 300 seconds') >= 300);
  fc.assert(
    fc.property(
      fc.nat(999_999),
      fc.constantFrom('s', 'seconds', 'min', 'hours'),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (n, unit, random) => {
        const delay = retryDelaySeconds(0, random, `please try again in ${n} ${unit}`);
        assert.ok(delay >= 30 && delay <= 4 * 3600);
      },
    ),
  );
});

test('a site backs off for a minute, doubling to half an hour', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 50].map((failures) => siteBackoffSeconds(failures, 0.5) / 60),
    [1, 2, 4, 8, 16, 30, 30, 30],
  );
});
