import assert from 'node:assert/strict';
import { test } from 'node:test';
import { availability } from '../../rules/availability.ts';

test('days are counted, not added up: a time too large to add a day to ends as well', () => {
  for (const now of [0, Date.UTC(2026, 0, 1), 1e300, Number.NaN])
    assert.deepEqual(availability({ monitors: [], maintenance: [], now }, 90), { days: [], months: [] });
});
