import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Assignment, Outcome } from '../../../protocols/agent.ts';
import { makeScheduler } from '../schedule/scheduler.ts';
import { confirmDelayMs } from '../schedule/streak.ts';
import { httpMonitor, manualClock } from './support.ts';

/** When checks start, in seconds after the first, as outcomes come one after the other. */
async function startsBy(outcomes: Outcome[], more: Partial<Omit<Assignment, 'kind' | 'target'>> = {}) {
  const clock = manualClock();
  const at: number[] = [];
  const left = [...outcomes];
  const scheduler = makeScheduler({
    clock,
    vantage: 'local',
    run: async () => {
      at.push(clock.now());
      return { outcome: left.shift() ?? 'pass' };
    },
    report: () => {},
  });
  scheduler.assign([httpMonitor('mon_a', more)], { removed: [], full: true });
  while (left.length > 0) await clock.advance(5_000);
  await clock.advance(30_000);
  return at.slice(0, outcomes.length + 1).map((time) => Math.round((time - at[0]!) / 1000));
}

test('a first failure is looked at again soon, and a confirmed one at its place', async () => {
  const [, second, third] = await startsBy(['fail', 'fail', 'fail'], { intervalSeconds: 3600, confirmations: 2 });
  assert.equal(second, 10);
  assert.ok(third! > 11, 'confirmed: no hurry');
});

test('as many times as it takes, in both directions', async () => {
  // An hour between its places, so that none of them comes in between.
  const hourly = { intervalSeconds: 3600 };
  const down = await startsBy(['error', 'fail', 'error', 'fail'], { ...hourly, confirmations: 4 });
  assert.deepEqual(down.slice(0, 4), [0, 10, 20, 30]);
  const up = await startsBy(['pass', 'pass', 'pass'], { ...hourly, confirmations: 3, streak: { fail: 3, pass: 0, verdict: 'failing' } });
  assert.deepEqual(up.slice(0, 3), [0, 10, 20]);
});

test('a prober that takes over goes on at the pace of the one before', async () => {
  const taken = await startsBy(['fail', 'fail'], {
    intervalSeconds: 3600,
    confirmations: 2,
    streak: { fail: 1, pass: 0, verdict: 'passing' },
  });
  assert.ok(taken[1]! > 11, 'its first failure is the second');
});

test('one confirmation is none to wait for; a check that was missed confirms nothing', async () => {
  assert.ok((await startsBy(['fail', 'fail'], { intervalSeconds: 3600, confirmations: 1 }))[1]! > 11);
  const [, second, third] = await startsBy(['fail', 'missed', 'fail'], { intervalSeconds: 3600, confirmations: 2 });
  assert.equal(second, 10);
  assert.ok(third! > 11, 'no check out of turn for what is our own fault');
});

test('the wait is half an interval, a second at least and ten at most', () => {
  assert.deepEqual([5_000, 10_000, 30_000, 3_600_000, 1_000, 500].map(confirmDelayMs), [2_500, 5_000, 10_000, 10_000, 1_000, 500]);
});
