import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isFull, memberLimitsOf, needsDefragmentation, quotaBytesOf, reconnectedAfterMs } from '../rules/etcd/limits.ts';

const gib = 2 ** 30;

test('a store is full from 95 % of its quota on, and takes writes again below 93 %', () => {
  assert.deepEqual([quotaBytesOf({}), quotaBytesOf({ storageGiB: 3 })], [10 * gib, 3 * gib]);
  assert.deepEqual(
    [0.94, 0.95, 1].map((share) => isFull(share * gib, gib, false)),
    [false, true, true],
  );
  assert.deepEqual(
    [0.95, 0.94, 0.92].map((share) => isFull(share * gib, gib, true)),
    [true, true, false],
  );
});

test('a file is defragmented when that frees much of it, or some of one that is nearly as large as it may be', () => {
  const due = (fileBytes: number, usedBytes: number) => needsDefragmentation({ fileBytes, usedBytes }, gib);
  assert.equal(due(0.5 * gib, 0.1 * gib), true);
  assert.equal(due(0.5 * gib, 0.3 * gib), false, 'less than half is free');
  assert.equal(due(100 * 2 ** 20, 2 ** 20), false, 'too little to be worth a pause');
  assert.equal(due(0.95 * gib, 0.8 * gib), true);
  assert.equal(due(0.95 * gib, 0.94 * gib), false, 'it frees nothing');
});

test('clients have connected again when the last attempt that may follow the end of an outage is over', () => {
  assert.deepEqual([reconnectedAfterMs(0), reconnectedAfterMs(700), reconnectedAfterMs(900)], [1_200, 1_200, 2_820]);
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 60_000 }),
      fc.array(fc.double({ min: 0.8, max: 1.2, noNaN: true }), { minLength: 20, maxLength: 20 }),
      (downMs, jitter) => {
        // One client, with its own jitter: its first attempt after the outage.
        let at = 0;
        for (let n = 0, wait = 1_000; at < downMs || n === 0; n++, wait = Math.min(120_000, wait * 1.6)) at += wait * jitter[n % 20]!;
        assert.ok(at <= reconnectedAfterMs(downMs) + 1e-6, `${at} > ${reconnectedAfterMs(downMs)}`);
      },
    ),
  );
});

test('larger sizes have more of everything', () => {
  const [small, medium, large] = ['db-small', 'db-medium', 'db-large'].map(memberLimitsOf);
  assert.ok(small!.memoryMiB < medium!.memoryMiB && medium!.memoryMiB < large!.memoryMiB);
  assert.ok(small!.processors < medium!.processors && medium!.processors < large!.processors);
  assert.deepEqual(memberLimitsOf(undefined), small);
});
