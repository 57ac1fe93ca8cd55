import assert from 'node:assert/strict';
import fc from 'fast-check';
import { anchorAt, type Handoff, onCallAt, type Rotation, type Shift, shiftsBetween } from '../../rules/rotation.ts';
import type { Override } from '../../rules/types.ts';
import { allZones, type ClockChange, changesOf } from './clock-changes.ts';

const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
const iso = (ms: number) => new Date(ms).toISOString();
const people = ['ann', 'bob', 'cid'].map((userId) => ({ userId, label: userId }));

function rotationOf(timezone: string, handoff: Handoff, createdMs: number): Rotation {
  const base = { timezone, participants: people, handoff };
  return { ...base, ...anchorAt(base, iso(createdMs), 0) };
}

/** Whatever the clock does: each shift begins where the one before ends, none is empty, and together they are all the time asked for. */
function assertContiguous(shifts: readonly Shift[], from: number, to: number, told: string) {
  assert.equal(shifts[0]?.startsAt, iso(from), told);
  assert.equal(shifts.at(-1)?.endsAt, iso(to), told);
  shifts.forEach((shift, i) => {
    assert.ok(shift.startsAt < shift.endsAt, `${told}: empty ${JSON.stringify(shift)}`);
    if (i) assert.equal(shift.startsAt, shifts[i - 1]!.endsAt, told);
  });
}

function assertAgrees(rotation: Rotation, overrides: readonly Override[], shifts: readonly Shift[], at: number, told: string) {
  const shift = shifts.find((s) => s.startsAt <= iso(at) && iso(at) < s.endsAt)!;
  const now = onCallAt(rotation, overrides, iso(at))!;
  assert.equal(now.userId, shift.userId, `${told}: at ${iso(at)}`);
  assert.equal(now.override, shift.overrideId !== undefined, told);
  assert.ok(now.until > iso(at), `${told}: over at ${now.until}, asked at ${iso(at)}`);
  if (shift !== shifts.at(-1)) assert.equal(now.until, shift.endsAt, told);
}

/** No turn is skipped or repeated. Handoffs are on the minute, or later by the clock's jump. */
function assertInTurn({ zone, at, jump }: ClockChange, handoff: Handoff, shifts: readonly Shift[], told: string) {
  const lengths = [dayMs, dayMs - jump * 1000].map((ms) => ms + (handoff.interval === 'weekly' ? 6 * dayMs : 0));
  shifts.forEach((shift, i) => {
    const before = shifts[i - 1];
    if (!before) return;
    const order = people.findIndex((p) => p.userId === before.userId);
    assert.equal(shift.userId, people[(order + 1) % people.length]!.userId, told);
    const wall = Temporal.Instant.from(shift.startsAt).toZonedDateTimeISO(zone).toPlainTime().toString({ smallestUnit: 'minute' });
    const begins = Date.parse(shift.startsAt);
    assert.ok(wall === handoff.time || (at <= begins && begins < at + Math.abs(jump) * 1000), `${told}: handoff at ${wall}`);
    if (i < shifts.length - 1) assert.ok(lengths.includes(Date.parse(shift.endsAt) - begins), `${told}: ${JSON.stringify(shift)}`);
  });
}

/** Before, inside, across and after what the clock repeats or skips; two that overlap there; one that ends as it begins. */
export function overridesNear({ at, jump }: ClockChange): Override[][] {
  const width = Math.min(Math.abs(jump) * 1000, 2 * hourMs);
  const spans: [number, number][][] = [
    [],
    [[at + width / 3, at + width / 2]],
    [[at - width / 2, at - width / 3]],
    [[at - 2 * width, at + 2 * width]],
    [
      [at - width / 2, at + width / 2],
      [at - width / 4, at + width],
    ],
    [
      [at - width, at],
      [at + width, at + 2 * width],
    ],
  ];
  return spans.map((list) =>
    list.map(([from, to], i) => ({ id: `ovr_${i}`, userId: 'eve', label: 'eve', startsAt: iso(from), endsAt: iso(to) })),
  );
}

export function judge(change: ClockChange, handoff: Handoff, overrides: readonly Override[], createdMs: number, days: number) {
  const rotation = rotationOf(change.zone, handoff, createdMs);
  const [from, to] = [change.at - days * dayMs - 17 * 60_000, change.at + days * dayMs + 23 * 60_000];
  const told = `${change.zone} ${iso(change.at)} ${JSON.stringify(handoff)} ${JSON.stringify(overrides)}`;
  const shifts = shiftsBetween(rotation, overrides, iso(from), iso(to));
  assertContiguous(shifts, from, to, told);
  if (!overrides.length) assertInTurn(change, handoff, shifts, told);
  const width = Math.abs(change.jump) * 1000;
  for (const at of [change.at - 1, change.at, change.at + 0.4 * width, change.at + width])
    assertAgrees(rotation, overrides, shifts, Math.round(at), told);
}

/** Any handoff, any overrides, around any change of any clock. */
export function surviveAnyChange(numRuns: number) {
  const anyChange = fc.constantFrom(...allZones.map(changesOf).filter((list) => list.length)).chain((list) => fc.constantFrom(...list));
  const anyOverride = fc.record({ from: fc.integer({ min: -90, max: 90 }), minutes: fc.integer({ min: 1, max: 300 }) });
  fc.assert(
    fc.property(
      anyChange,
      fc.constantFrom('daily' as const, 'weekly' as const),
      fc.integer({ min: 0, max: 7 }),
      fc.integer({ min: 0, max: 1439 }),
      fc.array(anyOverride, { maxLength: 6 }),
      (change, interval, day, minute, spans) => {
        const time = Temporal.PlainTime.from('00:00').add({ minutes: minute }).toString({ smallestUnit: 'minute' });
        const overrides = spans.map(({ from, minutes }, i) => ({
          id: `ovr_${i}`,
          userId: `sub ${i}`,
          label: '',
          startsAt: iso(change.at + from * 60_000),
          endsAt: iso(change.at + (from + minutes) * 60_000),
        }));
        judge(change, { interval, time, dow: day }, overrides, change.at - 10 * dayMs, 3);
      },
    ),
    { numRuns },
  );
}
