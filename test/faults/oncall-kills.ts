/** Paging under kill -9 at random moments, for QUARTERDECK_FAULT_ROUNDS rounds (default 25) of 12 incidents each. */
import { test } from 'node:test';
import { randomKills } from '../../src/areas/oncall/test/kill-campaign.ts';

const rounds = Number(process.env.QUARTERDECK_FAULT_ROUNDS ?? 25);

test('servers killed at random moments lose no page and double none', { timeout: 3_600_000 }, (t) =>
  randomKills(t, { rounds, each: 12, isRevivedHere: false }),
);
