import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeScheduler } from '../schedule/scheduler.ts';
import { offsetOf } from '../schedule/slot.ts';
import { httpMonitor, manualClock } from './support.ts';

const interval = 60_000;

test('whatever happens to the wall clock, checks of a monitor stay an interval apart, within a twentieth', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: -86_400_000, max: 86_400_000 }), { minLength: 1, maxLength: 5 }), async (jumps) => {
      const clock = manualClock();
      const at: number[] = [];
      const outcomes: string[] = [];
      const scheduler = makeScheduler({
        clock,
        vantage: 'local',
        run: async () => {
          at.push(clock.now());
          return { outcome: 'pass' };
        },
        report: (_, { outcome }) => outcomes.push(outcome),
      });
      scheduler.assign([httpMonitor('mon_a')], { removed: [], full: true });
      await clock.advance(2.5 * interval);
      for (const jump of jumps) {
        clock.setWall(clock.wall() + jump);
        await clock.advance(2 * interval);
      }
      await clock.advance(13 * interval);
      for (const [i, time] of at.entries()) {
        if (i < 2) continue;
        const gap = time - at[i - 1]!;
        assert.ok(gap >= 0.949 * interval && gap <= 1.051 * interval, `${gap} ms between two checks`);
      }
      assert.ok(outcomes.every((outcome) => outcome === 'pass'));
      // And in the end it is back at its place by the new time.
      const off = (clock.wall() - (clock.now() - at.at(-1)!) - offsetOf('mon_a', 'local', 60)) % interval;
      assert.ok(Math.min(Math.abs(off), interval - Math.abs(off)) < 5, `${off} ms off its place`);
    }),
    { numRuns: 30 },
  );
});
