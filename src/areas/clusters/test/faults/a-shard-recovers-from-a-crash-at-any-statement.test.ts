import { test } from 'node:test';
import { dieEverywhere } from '../killed.ts';

// A few points of each phase; `npm run test:faults` walks through all of them.
test('the next shard completes a creation, change or deletion after a crash at any statement', (t) =>
  dieEverywhere(t, {
    create: ['after:9', 'before:40'],
    change: ['before:14'],
    remove: ['after:9'],
  }));
