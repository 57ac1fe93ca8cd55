import { test } from 'node:test';
import { makeChance } from '../../../../../test/harness/kill/index.ts';
import { crashPoints } from '../crash-points.ts';
import { killAt } from '../kill-campaign.ts';

// A sample; `npm run test:faults` runs all points.
test('a server killed in commit, garbage collection or cache fill loses nothing', (t) => {
  const chance = makeChance(t);
  const some = [2, 7 + chance.below(2), 9 + chance.below(2)].map((i) => ({ ...crashPoints[i]!, nth: 1 + chance.below(6) }));
  return killAt(t, some);
});
