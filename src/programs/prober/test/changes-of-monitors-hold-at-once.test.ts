import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Assignment } from '../../../protocols/agent.ts';
import type { Observation } from '../checks/observation.ts';
import { makeScheduler } from '../schedule/scheduler.ts';
import { httpMonitor, manualClock } from './support.ts';

/** A scheduler whose checks end when the test says so. */
function bench() {
  const clock = manualClock();
  const started: { assignment: Assignment; at: number; end: (observation: Observation) => void }[] = [];
  const reported: { id: string; epoch: number; outcome: string; at: number }[] = [];
  const scheduler = makeScheduler({
    clock,
    vantage: 'local',
    run: (assignment) => new Promise((end) => started.push({ assignment, at: clock.now(), end })),
    report: ({ id, epoch }, { outcome }, at) => reported.push({ id, epoch, outcome, at }),
  });
  const end = async (observation: Observation = { outcome: 'pass' }) => {
    started.at(-1)!.end(observation);
    await clock.advance(0);
  };
  return { clock, started, reported, scheduler, end };
}
const nothing = { removed: [], full: false };

test('a new monitor runs at once; removed, it does not run again, and its check under way is not reported', async () => {
  const { clock, started, reported, scheduler, end } = bench();
  scheduler.assign([httpMonitor('mon_a')], nothing);
  await clock.advance(1);
  assert.equal(started.length, 1);
  scheduler.assign([], { removed: ['mon_a'], full: false });
  await end();
  await clock.advance(300_000);
  assert.deepEqual([started.length, reported.length, scheduler.size], [1, 0, 0]);
});

test('what a full answer does not name is gone', async () => {
  const { clock, started, scheduler, end } = bench();
  scheduler.assign([httpMonitor('mon_a'), httpMonitor('mon_b')], nothing);
  await clock.advance(1);
  for (const each of started) each.end({ outcome: 'pass' });
  scheduler.assign([httpMonitor('mon_b')], { removed: [], full: true });
  await clock.advance(59_000);
  await end();
  assert.deepEqual([scheduler.size, scheduler.has('mon_a'), scheduler.has('mon_b')], [1, false, true]);
  assert.ok(started.slice(2).every(({ assignment }) => assignment.id === 'mon_b'));
});

test('one that starts over runs at once as it is now, even beside its old check, which is not reported', async () => {
  const { clock, started, reported, scheduler, end } = bench();
  scheduler.assign([httpMonitor('mon_a')], nothing);
  await clock.advance(1);
  scheduler.assign([httpMonitor('mon_a', { epoch: 2, timeoutMs: 700 })], nothing);
  await clock.advance(100); // its host is spared for so long
  assert.deepEqual(
    started.map(({ assignment }) => assignment.epoch),
    [1, 2],
  );
  started[0]!.end({ outcome: 'error', errorKind: 'timeout' });
  await end();
  assert.deepEqual(
    reported.map(({ epoch, outcome }) => [epoch, outcome]),
    [[2, 'pass']],
  );
});

test('another interval holds from now on, without a check out of turn', async () => {
  const { clock, started, scheduler, end } = bench();
  scheduler.assign([httpMonitor('mon_a', { intervalSeconds: 3600, timeoutMs: 500 })], nothing);
  await clock.advance(1);
  await end();
  scheduler.assign([httpMonitor('mon_a', { intervalSeconds: 30, timeoutMs: 500 })], nothing);
  assert.equal(started.length, 1);
  for (let round = 0; round < 4; round++) {
    await clock.advance(30_000);
    await end();
  }
  assert.equal(started.length, 5);
});

test('what is told again as it was changes nothing', async () => {
  const { clock, started, scheduler, end } = bench();
  scheduler.assign([httpMonitor('mon_a')], nothing);
  await clock.advance(1);
  await end();
  for (let minute = 0; minute < 3; minute++) {
    for (let again = 0; again < 6; again++) {
      await clock.advance(10_000);
      scheduler.assign([httpMonitor('mon_a')], { removed: [], full: true });
    }
    started.at(-1)!.end({ outcome: 'pass' });
    await clock.advance(0);
  }
  assert.ok(started.length >= 3 && started.length <= 4, `${started.length} checks in three minutes`);
});

test('a stopped scheduler ends what is under way and starts nothing', async () => {
  const { clock, started, reported, scheduler, end } = bench();
  scheduler.assign([httpMonitor('mon_a')], nothing);
  await clock.advance(1);
  let isStopped = false;
  const stopped = scheduler.stop().then(() => {
    isStopped = true;
  });
  await clock.advance(200_000);
  assert.deepEqual([started.length, isStopped], [1, false]);
  await end();
  await stopped;
  assert.equal(reported.length, 1);
});
