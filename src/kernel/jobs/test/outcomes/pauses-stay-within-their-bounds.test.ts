import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RetryAt, RetryIn, Stopping } from '../../declare.ts';
import { backoff, outcomeOf, sentenceOf } from '../../outcome.ts';

const attempt = fc.integer({ min: 1, max: 1_000_000 });
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('pauses double from 5 s to an hour, a fifth more or less', () => {
  fc.assert(
    fc.property(attempt, chance, (n, c) => {
      const middle = Math.min(3_600, 5 * 2 ** (n - 1));
      const pause = backoff(n, c);
      assert.ok(pause >= middle * 0.8 && pause <= middle * 1.2);
    }),
  );
});

test('whatever a handler throws becomes an outcome that the database takes', () => {
  const anything = fc.oneof(
    fc.anything({ maxDepth: 1, maxKeys: 3 }),
    fc.array(fc.nat(0xffff), { minLength: 400, maxLength: 700 }).map((units) => new Error(String.fromCharCode(...units))),
    fc.double().map((seconds) => new RetryIn(seconds, 'later')),
    fc.string().map((at) => new RetryAt(at, 'then')),
  );
  fc.assert(
    fc.property(anything, fc.option(fc.double(), { nil: undefined }), attempt, chance, (thrown, pause, n, c) => {
      const outcome = outcomeOf(thrown, { retry: () => pause, maxAttempts: 20 }, n, c);
      assert.ok(outcome.is === 'retry' || outcome.is === 'dead');
      assert.match(outcome.error, /^[^\0\n]{1,500}$/su);
      assert.ok(outcome.error.isWellFormed());
      if (n >= 20) assert.equal(outcome.is, 'dead', 'attempts end');
      if (outcome.is !== 'retry') return;
      if ('at' in outcome) assert.ok(!Number.isNaN(Date.parse(outcome.at)));
      else assert.ok(outcome.inSeconds >= 0 && outcome.inSeconds <= 366 * 86_400);
    }),
  );
});

test('what was only stopped is no failure', () => {
  assert.deepEqual(outcomeOf(new Stopping(), { retry: undefined, maxAttempts: 1 }, 1, 0), { is: 'released' });
});

test('a sentence says what failed and why', () => {
  assert.equal(sentenceOf(new Error('the relay refused', { cause: new Error('550 no such user') })), 'the relay refused: 550 no such user');
  assert.equal(sentenceOf(''), 'it failed without saying why');
});
