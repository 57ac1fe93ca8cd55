import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  afterCheck,
  afterRecheckRequest,
  type Finding,
  failedSeconds,
  missingSeconds,
  nextCheckIn,
  pendingSeconds,
} from '../../rules/domain-state.ts';

const finding = fc.constantFrom<Finding>('found', 'missing', 'unknown');
/** A history: the finding of each check, and its delay after it was due. */
const life = fc.array(fc.tuple(finding, fc.integer({ min: 0, max: 4 * 86_400 })), { minLength: 1, maxLength: 60 });
const born = { state: 'pending' as const, stateAt: 0, misses: 0, missingSince: null };

function* live(checks: [Finding, number][]) {
  let now = 0;
  let before: ReturnType<typeof afterRecheckRequest> = born;
  for (const [found, late] of checks) {
    const after = afterCheck(before, found, now);
    yield { before, after, found, now };
    if (after.nextIn === null) return;
    now += after.nextIn + late;
    before = after;
  }
}

test('a domain’s state changes only on answers of the DNS', () => {
  fc.assert(
    fc.property(life, (checks) => {
      for (const { before, after, found, now } of live(checks)) {
        if (found === 'found') assert.equal(after.state, 'verified');
        if (found === 'unknown') assert.deepEqual({ ...after, nextIn: 0 }, { ...before, nextIn: 0 }, 'what did not answer proves nothing');
        if (found === 'missing' && before.state === 'pending')
          assert.equal(after.state, now - before.stateAt >= pendingSeconds ? 'failed' : 'pending');
        if (found === 'missing' && before.state === 'failed') assert.equal(after.state, 'failed');
        assert.ok(after.stateAt <= now && (after.state === before.state ? after.stateAt === before.stateAt : after.stateAt === now));
      }
    }),
  );
});

test('a verified domain fails only after three misses in a row over a day', () => {
  fc.assert(
    fc.property(life, (checks) => {
      let misses: number[] = [];
      for (const { before, after, found, now } of live(checks)) {
        if (before.state !== 'verified') {
          misses = [];
          continue;
        }
        if (found === 'found') misses = [];
        if (found === 'missing') misses.push(now);
        const isOver = found === 'missing' && misses.length >= 3 && now - misses[0]! >= missingSeconds;
        assert.equal(after.state, isOver ? 'failed' : 'verified');
        if (isOver) misses = [];
      }
    }),
  );
});

test('checks become rarer, stop after 14 days, and restart on request', () => {
  const times: number[] = [];
  for (const { now } of live(Array.from({ length: 1_000 }, () => ['missing', 0]))) times.push(now);
  assert.deepEqual(times.slice(0, 7), [0, 15, 30, 60, 120, 300, 600]);
  const gaps = times.slice(1).map((time, i) => time - times[i]!);
  assert.ok(gaps.every((gap, i) => i === 0 || gap >= gaps[i - 1]!));
  assert.ok(Math.abs(times.at(-1)! - 14 * 86_400) <= 6 * 3_600, `the last look was after ${times.at(-1)! / 86_400} days`);
  assert.ok(times.length < 200);

  const failed = { state: 'failed' as const, stateAt: 0, misses: 9, missingSince: 0 };
  assert.equal(nextCheckIn(failed, failedSeconds), null);
  assert.deepEqual(afterRecheckRequest(failed, 5_000_000), { state: 'pending', stateAt: 5_000_000, misses: 0, missingSince: null });
  const verified = { state: 'verified' as const, stateAt: 0, misses: 1, missingSince: 7 };
  assert.equal(afterRecheckRequest(verified, 9), verified);
});
