import assert from 'node:assert/strict';
import fc from 'fast-check';
import { anchorAt, gapsBetween, onCallAt, type Rotation, shiftsBetween, turnAt } from '../../rules/rotation.ts';

const zones = [
  'America/Chicago',
  'Australia/Lord_Howe',
  'America/Sao_Paulo',
  'Asia/Beirut',
  'Africa/Cairo',
  'Europe/Dublin',
  'America/Havana',
  'Asia/Tehran',
  'Asia/Kathmandu',
  'Africa/Casablanca',
  'America/Scoresbysund',
  'Antarctica/Troll',
  'Europe/Paris',
  'Asia/Gaza',
  'UTC',
];
const people = ['ann', 'bob', 'cid'].map((userId) => ({ userId, label: userId }));

export const rotationOf = (timezone: string, interval: 'daily' | 'weekly', time: string, dow: number, createdAt: string): Rotation => {
  const base = { timezone, participants: people, handoff: { interval, time, dow } };
  return { ...base, ...anchorAt(base, createdAt, 0) };
};

const created = fc.integer({ min: Date.UTC(2012, 0, 1), max: Date.UTC(2030, 0, 1) }).map((ms) => new Date(ms).toISOString());
const anyRotation = fc
  .record({
    zone: fc.constantFrom(...zones),
    interval: fc.constantFrom('daily' as const, 'weekly' as const),
    time: fc.constantFrom('00:00', '00:30', '01:30', '02:00', '02:30', '03:00', '09:00', '23:30'),
    dow: fc.integer({ min: 0, max: 7 }),
    createdAt: created,
  })
  .map((r) => ({ ...r, rotation: rotationOf(r.zone, r.interval, r.time, r.dow, r.createdAt) }));

const later = (from: string, days: number) => new Date(Date.parse(from) + days * 86_400_000).toISOString();

/** Shifts are contiguous, in order and none is lost, over a year of daylight saving in every zone. */
export function followEachOther(numRuns: number) {
  fc.assert(
    fc.property(anyRotation, ({ rotation, createdAt }) => {
      const to = later(createdAt, 400);
      const shifts = shiftsBetween(rotation, [], createdAt, to);
      assert.deepEqual(gapsBetween(shifts, createdAt, to), []);
      assert.equal(shifts[0]!.userId, 'ann');
      shifts.forEach((shift, i) => {
        const next = shifts[i + 1];
        if (!next) return;
        assert.equal(next.startsAt, shift.endsAt);
        const order = people.findIndex((p) => p.userId === shift.userId);
        assert.equal(next.userId, people[(order + 1) % people.length]!.userId);
      });
    }),
    { numRuns },
  );
}

/** The person on call at an instant is the one in the list of shifts. */
export function agreeWithTheList(numRuns: number) {
  fc.assert(
    fc.property(anyRotation, fc.integer({ min: 0, max: 399 * 86_400 }), ({ rotation, createdAt }, seconds) => {
      const at = new Date(Date.parse(createdAt) + seconds * 1000).toISOString();
      const shift = shiftsBetween(rotation, [], createdAt, later(createdAt, 400)).find((s) => s.startsAt <= at && at < s.endsAt)!;
      const now = onCallAt(rotation, [], at)!;
      assert.equal(now.userId, shift.userId);
      assert.equal(now.override, false);
      if (shift.endsAt < later(createdAt, 399)) assert.equal(now.until, shift.endsAt);
    }),
    { numRuns },
  );
}

/** A new handoff or zone keeps the current shift. */
export function keepTheShift(numRuns: number) {
  fc.assert(
    fc.property(anyRotation, anyRotation, fc.integer({ min: 0, max: 300 }), (before, after, days) => {
      const at = later(before.createdAt, days);
      const turn = turnAt(before.rotation, at)!;
      const moved = { timezone: after.rotation.timezone, participants: people, handoff: after.rotation.handoff };
      assert.equal(onCallAt({ ...moved, ...anchorAt(moved, at, turn) }, [], at)!.userId, onCallAt(before.rotation, [], at)!.userId);
    }),
    { numRuns },
  );
}
