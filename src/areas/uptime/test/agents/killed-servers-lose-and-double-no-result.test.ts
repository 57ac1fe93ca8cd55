import { test } from 'node:test';
import { killDuringBatches } from './kill-campaign.ts';

test('servers killed in the middle of batches lose nothing that was acknowledged and store nothing twice', { timeout: 120_000 }, (t) =>
  killDuringBatches(t, { kills: 2, monitors: 21, each: 15, isRevivedHere: true }),
);
