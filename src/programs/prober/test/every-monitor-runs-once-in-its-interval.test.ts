import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Assignment } from '../../../protocols/agent.ts';
import { makeScheduler } from '../schedule/scheduler.ts';
import { offsetOf } from '../schedule/slot.ts';
import { httpMonitor, manualClock } from './support.ts';

interface Start {
  readonly monitor: string;
  readonly at: number;
  readonly wall: number;
}

/** Every start of these monitors within so many milliseconds, each check taking `tookMs`. */
async function starts(assignments: Assignment[], forMs: number, { vantage = 'local', tookMs = 10, wall = 1_800_000_000_000 } = {}) {
  const clock = manualClock({ wall });
  const found: Start[] = [];
  const missed: string[] = [];
  const scheduler = makeScheduler({
    clock,
    vantage,
    run: async ({ id }) => {
      found.push({ monitor: id, at: clock.now(), wall: clock.wall() });
      await new Promise<void>((resolve) => clock.at(clock.now() + tookMs, resolve));
      return { outcome: 'pass' };
    },
    report: ({ id }, { outcome }) => {
      if (outcome === 'missed') missed.push(id);
    },
  });
  scheduler.assign(assignments, { removed: [], full: true });
  await clock.advance(forMs);
  return { found, missed };
}

test('after its first check, at once, each monitor runs exactly once in each interval, at its place', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.stringMatching(/^mon_[0-9A-Z]{8}$/), { minLength: 1, maxLength: 12 }),
      fc.constantFrom(5, 10, 30, 60),
      fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 }),
      fc.integer({ min: 1, max: 400 }),
      async (ids, intervalSeconds, wall, tookMs) => {
        const interval = intervalSeconds * 1000;
        const rounds = 6;
        const { found, missed } = await starts(
          ids.map((id) => httpMonitor(id, { intervalSeconds, timeoutMs: 500 })),
          (rounds + 2) * interval,
          { wall, tookMs },
        );
        assert.deepEqual(missed, []);
        for (const id of ids) {
          const own = found.filter(({ monitor }) => monitor === id);
          assert.ok(own[0]!.at - 1_000 <= 1_000, 'the first comes at once');
          const place = offsetOf(id, 'local', intervalSeconds);
          const regular = own.slice(1);
          assert.ok(regular.length >= rounds && regular.length <= rounds + 2, `${regular.length} runs`);
          for (const [at, { wall: when }] of regular.entries()) {
            assert.ok(Math.abs(((when - place) % interval) / interval) < 1e-6, `at ${when % interval}, its place is ${place}`);
            if (at > 0) assert.ok(Math.abs(when - regular[at - 1]!.wall - interval) < 1, 'an interval apart');
          }
        }
      },
    ),
    { numRuns: 40 },
  );
});

test('places spread over the interval, and over the vantages of one monitor', () => {
  const seconds = new Array(60).fill(0);
  let apart = 0;
  for (let at = 0; at < 6_000; at++) {
    const id = `mon_01JC${at.toString(36).toUpperCase().padStart(22, '0')}`;
    const here = offsetOf(id, 'local', 60);
    seconds[Math.floor(here / 1000)]++;
    const distance = Math.abs(here - offsetOf(id, 'fra1', 60));
    apart += Math.min(distance, 60_000 - distance);
  }
  // 100 a second on average; five standard deviations are 50.
  assert.ok(Math.max(...seconds) < 150 && Math.min(...seconds) > 50, `${Math.min(...seconds)} to ${Math.max(...seconds)} in a second`);
  // Two places chosen at random are a quarter of a circle apart.
  assert.ok(Math.abs(apart / 6_000 - 15_000) < 1_000, `${apart / 6_000} ms apart`);
});

test('many new monitors begin over a second, not in one moment', async () => {
  const ids = Array.from({ length: 200 }, (_, at) => `mon_${at}`);
  const { found } = await starts(
    ids.map((id) => httpMonitor(id)),
    1_500,
  );
  const perTenth = new Map<number, number>();
  for (const { at } of found) perTenth.set(Math.floor(at / 100), (perTenth.get(Math.floor(at / 100)) ?? 0) + 1);
  assert.ok(new Set(found.map(({ monitor }) => monitor)).size === 200);
  assert.ok(Math.max(...perTenth.values()) <= 40, `${Math.max(...perTenth.values())} in a tenth of a second`);
});
