import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProgress } from '../assert-progress.ts';

test('each round stands later than the one before, and there are only so many', () => {
  const moveOn = assertProgress('the loop', 3);
  for (const place of [-5, 0, 0.5]) moveOn(place);
  assert.throws(() => moveOn(1), /the loop does not end after 3 steps/);
});

test('a round that stands still, goes back or is nowhere throws', () => {
  for (const place of [7, 6, Number.NaN, Number.NEGATIVE_INFINITY]) {
    const moveOn = assertProgress('the loop', 100);
    moveOn(7);
    assert.throws(() => moveOn(place), /the loop does not move on/);
  }
});
