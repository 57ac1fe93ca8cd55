import { test } from 'node:test';
import { dieEverywhere } from '../killed.ts';

// A few points of each phase; `npm run test:faults` walks through all of them.
test('a shard that dies while it makes, changes or removes a cluster is gone on from by the next', (t) =>
  dieEverywhere(t, {
    create: ['before:6', 'after:9', 'after:14', 'before:40'],
    change: ['after:8', 'before:14'],
    remove: ['before:8', 'after:9'],
  }));
