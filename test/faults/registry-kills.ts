/** The registry under kill -9 at each step of commit, garbage collection and cache fill, QUARTERDECK_FAULT_ROUNDS times (default 4). */
import { test } from 'node:test';
import { crashPoints } from '../../src/areas/registry/test/crash-points.ts';
import { killAt } from '../../src/areas/registry/test/kill-campaign.ts';
import { makeChance } from '../harness/kill/index.ts';

const rounds = Number(process.env.QUARTERDECK_FAULT_ROUNDS ?? 4);

for (let round = 1; round <= rounds; round++)
  test(`servers killed at every step lose nothing, round ${round} of ${rounds}`, { timeout: 900_000 }, (t) => {
    const chance = makeChance(t);
    const points = crashPoints.map((point) => ({ ...point, nth: 1 + chance.below(4 * round) }));
    return killAt(t, points);
  });
