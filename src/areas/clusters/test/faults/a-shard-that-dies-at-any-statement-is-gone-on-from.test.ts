import { test } from 'node:test';
import { dieEverywhere } from '../killed.ts';

// A few points of each phase; `npm run test:faults` walks through all of them.
test('a shard that dies while it makes, changes or removes a cluster is gone on from by the next', (t) =>
  dieEverywhere(t, {
    create: ['after:9', 'before:40'],
    change: ['before:14'],
    remove: ['after:9'],
  }));
