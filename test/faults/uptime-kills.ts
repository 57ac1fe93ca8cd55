import { test } from 'node:test';
import { killDuringBatches } from '../../src/areas/uptime/test/agents/kill-campaign.ts';

// Longer than npm test has time for: npm run test:faults.

test('forty kills of servers in the middle of batches', { timeout: 900_000 }, (t) =>
  killDuringBatches(t, { kills: 40, monitors: 200, each: 100 }),
);
