import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { availability, badDays, dayBefore, runsOf, shownDays, shownOf } from '../../rules/availability.ts';

const today = '2026-03-05'; // the days before it cross a February
const day = fc.record({ ago: fc.nat(120), watchedSeconds: fc.nat(86_400), downSeconds: fc.nat(86_400) });
const history = fc.uniqueArray(day, { selector: (d) => d.ago, maxLength: 120 }).map((list) =>
  list
    .sort((a, b) => b.ago - a.ago)
    .map(({ ago, watchedSeconds, downSeconds }) => ({
      date: dayBefore(today, ago),
      watchedSeconds,
      downSeconds: Math.min(downSeconds, watchedSeconds),
    })),
);

test('the bar has ninety days, each in one run, and no day with downtime looks whole', () => {
  fc.assert(
    fc.property(history, (days) => {
      const runs = runsOf(days, today);
      assert.equal(
        runs.reduce((sum, r) => sum + r.days, 0),
        shownDays,
      );
      runs.forEach((r, n) => {
        assert.equal(r.from, n ? runs[n - 1]!.from + runs[n - 1]!.days : 0);
        if (n) assert.notEqual(r.look, runs[n - 1]!.look);
      });
      const lookOf = (ago: number) => runs.find((r) => r.from <= shownDays - 1 - ago && shownDays - 1 - ago < r.from + r.days)!.look;
      for (let ago = 0; ago < shownDays; ago++) {
        const its = days.find((d) => d.date === dayBefore(today, ago));
        const expected = !its?.watchedSeconds
          ? 'none'
          : !its.downSeconds
            ? 'up'
            : its.downSeconds / its.watchedSeconds < 0.05
              ? 'some'
              : 'down';
        assert.equal(lookOf(ago), expected);
      }
      assert.equal(badDays(days, today).length, shownOf(days, today).filter((d) => d.downSeconds > 0).length);
    }),
  );
});

test('a figure is never better than what was seen', () => {
  fc.assert(
    fc.property(history, (days) => {
      const percent = availability(days);
      const watched = days.reduce((sum, d) => sum + d.watchedSeconds, 0);
      const down = days.reduce((sum, d) => sum + d.downSeconds, 0);
      if (!watched) return assert.equal(percent, undefined);
      const exact = 100 * (1 - down / watched);
      assert.ok(percent! <= exact + 1e-6 && percent! > exact - 0.0101, `${percent} of ${exact}`);
      if (down > 0 && down / watched > 1e-6) assert.ok(percent! < 100);
      if (down === 0) assert.equal(percent, 100);
    }),
  );
});
