/** A cluster is made, changed and removed while the shard dies before and after every statement of each, one server after the other. */
import { test } from 'node:test';
import { dieEverywhere } from '../../src/areas/clusters/test/killed.ts';

const everyNth = Number(process.env.QUARTERDECK_FAULT_STRIDE ?? 1);

/** A phase is over before its last point: the servers that outlive it are ended and count for nothing. */
const pointsUpTo = (most: number) =>
  Array.from({ length: Math.ceil(most / everyNth) }, (_, i) => 1 + i * everyNth).flatMap((n) => [`before:${n}`, `after:${n}`]);

test('killed at any statement of a cluster’s life, the next shard makes of it what was asked for', { timeout: 3_600_000 }, (t) =>
  dieEverywhere(t, { create: pointsUpTo(120), change: pointsUpTo(60), remove: pointsUpTo(25) }),
);
