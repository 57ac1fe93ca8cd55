import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { availability, type Change, type History, minus, observed, type State, stateOf, union } from '../../rules/availability.ts';

const hour = 3_600_000;
const day = 24 * hour;
const at = (iso: string) => Date.parse(iso);
const now = at('2026-11-15T12:00:00Z');

const changes = fc
  .array(
    fc.record({
      after: fc.integer({ min: 0, max: 5 * day }),
      back: fc.integer({ min: 0, max: hour }),
      to: fc.constantFrom<State>('up', 'down', 'pending'),
    }),
    {
      maxLength: 12,
    },
  )
  .map((steps): Change[] => {
    let when = now - 20 * day;
    return steps.map(({ after, back, to }) => {
      when = Math.min(now, when + after);
      return { since: when - back, to };
    });
  });
const windows = fc.array(
  fc
    .tuple(fc.integer({ min: -20 * day, max: day }), fc.integer({ min: 1, max: 3 * day }))
    .map(([from, long]): [number, number] => [now + from, now + from + long]),
  { maxLength: 4 },
);
const histories: fc.Arbitrary<History> = fc.record({
  monitors: fc.array(changes, { maxLength: 4 }),
  maintenance: windows,
  now: fc.constant(now),
});

/** What the words say, asked moment by moment. */
function model({ monitors, maintenance }: History, moment: number) {
  const states = monitors.map((its) => {
    let state: State = 'pending';
    let begun = Number.NEGATIVE_INFINITY;
    for (const { since, to } of its) {
      begun = Math.max(begun, since);
      if (begun <= moment) state = to;
    }
    return state;
  });
  const work = maintenance.some(([from, to]) => from <= moment && moment < to);
  return { down: !work && states.includes('down'), watched: !work && states.some((s) => s !== 'pending') };
}

const holds = (intervals: readonly (readonly [number, number])[], moment: number) =>
  intervals.some(([from, to]) => from <= moment && moment < to);

test('down and watched are what the words say, at any moment', () => {
  fc.assert(
    fc.property(histories, fc.integer({ min: now - 25 * day, max: now - 1 }), (history, moment) => {
      const { down, watched } = observed(history);
      assert.deepEqual({ down: holds(down, moment), watched: holds(watched, moment) }, model(history, moment));
    }),
    { numRuns: 3_000 },
  );
});

test('days and months add up to the same, and nothing is down that was not watched', () => {
  fc.assert(
    fc.property(histories, (history) => {
      const { days, months } = availability(history, 400);
      const { down, watched } = observed(history);
      const length = (intervals: readonly (readonly [number, number])[]) =>
        intervals.reduce((sum, [from, to]) => sum + to - from, 0) / 1_000;
      const sum = (list: { watchedSeconds: number; downSeconds: number }[], key: 'watchedSeconds' | 'downSeconds') =>
        list.reduce((total, each) => total + each[key], 0);
      for (const list of [days, months]) {
        // Each is rounded to a second by itself.
        assert.ok(Math.abs(sum(list, 'watchedSeconds') - length(watched)) <= list.length);
        assert.ok(Math.abs(sum(list, 'downSeconds') - length(down)) <= list.length);
        for (const each of list) assert.ok(each.downSeconds <= each.watchedSeconds && each.watchedSeconds > 0);
      }
      for (const each of days) assert.ok(each.watchedSeconds <= 86_400);
      assert.deepEqual(
        days.map((d) => d.date),
        [...new Set(days.map((d) => d.date))].sort(),
      );
    }),
    { numRuns: 500 },
  );
});

test('union and minus are set operations', () => {
  const intervals = fc.array(
    fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 20 })).map(([a, b]): [number, number] => [a, a + b]),
    {
      maxLength: 8,
    },
  );
  fc.assert(
    fc.property(intervals, intervals, fc.integer({ min: 0, max: 80 }), (a, b, moment) => {
      const [one, two] = [union(a), union(b)];
      assert.equal(holds(one, moment), holds(a, moment));
      assert.equal(holds(minus(one, two), moment), holds(a, moment) && !holds(b, moment));
      for (let i = 1; i < one.length; i++) assert.ok(one[i]![0] > one[i - 1]![1]);
    }),
  );
});

test('an outage over midnight, dated back, with planned work in it', () => {
  const history: History = {
    monitors: [
      [
        { since: at('2026-10-30T00:00:00Z'), to: 'up' },
        { since: at('2026-10-31T23:30:00Z'), to: 'down' }, // found a minute later, and true from here
        { since: at('2026-11-01T02:00:00Z'), to: 'up' },
      ],
      [
        { since: at('2026-10-30T00:00:00Z'), to: 'up' },
        { since: at('2026-11-01T01:30:00Z'), to: 'down' },
        { since: at('2026-11-01T02:30:00Z'), to: 'pending' }, // deleted
      ],
    ],
    maintenance: [[at('2026-11-01T01:00:00Z'), at('2026-11-01T01:45:00Z')]],
    now: at('2026-11-02T00:00:00Z'),
  };
  const { days, months } = availability(history, 90);
  assert.deepEqual(days, [
    { date: '2026-10-30', watchedSeconds: 86_400, downSeconds: 0 },
    { date: '2026-10-31', watchedSeconds: 86_400, downSeconds: 1_800 },
    { date: '2026-11-01', watchedSeconds: 86_400 - 2_700, downSeconds: 3_600 + 2_700 },
  ]);
  assert.deepEqual(months, [
    { month: '2026-10', watchedSeconds: 2 * 86_400, downSeconds: 1_800 },
    { month: '2026-11', watchedSeconds: 86_400 - 2_700, downSeconds: 6_300 },
  ]);
  assert.deepEqual(
    availability(history, 1).days.map((d) => d.date),
    [],
    'today nothing was watched yet',
  );
});

test('of several monitors the worst counts', () => {
  assert.deepEqual(
    [[], ['pending'], ['pending', 'up'], ['up', 'down'], ['pending', 'down']].map((states) => stateOf(states as State[])),
    [undefined, 'pending', 'up', 'down', 'down'],
  );
});
