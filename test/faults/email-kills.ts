/** Email under kill -9 at random moments, and before and after statements of accepting, sending and writing down, for QUARTERDECK_FAULT_ROUNDS rounds (default 20). */
import { test } from 'node:test';
import { killsAtPoints, randomKills } from '../../src/areas/email/test/kill-campaign.ts';
import { makeChance } from '../harness/kill/index.ts';

const rounds = Number(process.env.QUARTERDECK_FAULT_ROUNDS ?? 20);

test('one server with its own database, killed at random moments, loses no mail', { timeout: 3_600_000 }, async (t) => {
  await randomKills(t, { servers: 1, rounds, roundMs: 1_500 });
});

test('two servers on one database, killed at random moments, lose no mail', { timeout: 3_600_000 }, async (t) => {
  await randomKills(t, { servers: 2, rounds, roundMs: 1_500 });
});

test('a server killed before or after any statement loses no mail', { timeout: 3_600_000 }, async (t) => {
  const chance = makeChance(t);
  const points = Array.from({ length: rounds }, (_, n) => `${n % 2 ? 'after' : 'before'}:${30 + n * 7 + chance.below(7)}`);
  await killsAtPoints(t, points);
});
