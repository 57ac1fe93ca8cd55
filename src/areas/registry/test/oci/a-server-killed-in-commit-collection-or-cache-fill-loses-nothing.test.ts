import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { crashPoints } from '../crash-points.ts';
import { killAt } from '../kill-campaign.ts';

// A sample; `npm run test:faults` runs all points.
test('a server killed in commit, garbage collection or cache fill loses nothing', (t) => {
  const some = [2, 7 + randomInt(2), 9 + randomInt(2)].map((i) => ({ ...crashPoints[i]!, nth: 1 + randomInt(6) }));
  return killAt(t, some);
});
