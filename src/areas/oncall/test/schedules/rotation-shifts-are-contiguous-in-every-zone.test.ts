import assert from 'node:assert/strict';
import { test } from 'node:test';
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

const rotationOf = (timezone: string, interval: 'daily' | 'weekly', time: string, dow: number, createdAt: string): Rotation => {
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

test('shifts are contiguous, in order and none is lost, over a year of daylight saving in every zone', () => {
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
    { numRuns: 120 },
  );
});

test('whoever is on call at an instant is who the list of shifts names', () => {
  fc.assert(
    fc.property(anyRotation, fc.integer({ min: 0, max: 399 * 86_400 }), ({ rotation, createdAt }, seconds) => {
      const at = new Date(Date.parse(createdAt) + seconds * 1000).toISOString();
      const shift = shiftsBetween(rotation, [], createdAt, later(createdAt, 400)).find((s) => s.startsAt <= at && at < s.endsAt)!;
      const now = onCallAt(rotation, [], at)!;
      assert.equal(now.userId, shift.userId);
      assert.equal(now.override, false);
      if (shift.endsAt < later(createdAt, 399)) assert.equal(now.until, shift.endsAt);
    }),
    { numRuns: 100 },
  );
});

test('a new handoff or zone keeps the shift of whoever has it', () => {
  fc.assert(
    fc.property(anyRotation, anyRotation, fc.integer({ min: 0, max: 300 }), (before, after, days) => {
      const at = later(before.createdAt, days);
      const turn = turnAt(before.rotation, at)!;
      const moved = { timezone: after.rotation.timezone, participants: people, handoff: after.rotation.handoff };
      assert.equal(onCallAt({ ...moved, ...anchorAt(moved, at, turn) }, [], at)!.userId, onCallAt(before.rotation, [], at)!.userId);
    }),
    { numRuns: 100 },
  );
});

test('known changes of the clock fall where they should', () => {
  const paris = rotationOf('Europe/Paris', 'weekly', '09:00', 1, '2026-03-23T08:00:00.000Z');
  const [week] = shiftsBetween(paris, [], '2026-03-23T08:00:00.000Z', '2026-04-06T07:00:00.000Z');
  assert.equal(week!.endsAt, '2026-03-30T07:00:00.000Z'); // 167 hours: the clock went forward on the 29th

  const chicago = rotationOf('America/Chicago', 'daily', '02:30', 1, '2026-03-07T12:00:00.000Z');
  assert.equal(onCallAt(chicago, [], '2026-03-08T00:00:00.000Z')!.until, '2026-03-08T08:30:00.000Z'); // 02:30 does not exist: 03:30
});

test('an override wins outright, the newest over the older, and its end gives the shift back', () => {
  const rotation = rotationOf('UTC', 'daily', '09:00', 1, '2026-01-01T09:00:00.000Z');
  const overrides = [
    { id: 'ovr_1', userId: 'dan', label: 'dan', startsAt: '2026-01-01T10:00:00.000Z', endsAt: '2026-01-01T20:00:00.000Z' },
    { id: 'ovr_2', userId: 'eve', label: 'eve', startsAt: '2026-01-01T12:00:00.000Z', endsAt: '2026-01-01T13:00:00.000Z' },
  ];
  const at = (hour: string) => onCallAt(rotation, overrides, `2026-01-01T${hour}:00.000Z`);
  assert.deepEqual(at('09:30'), { userId: 'ann', label: 'ann', until: '2026-01-01T10:00:00.000Z', override: false });
  assert.deepEqual(at('10:00'), { userId: 'dan', label: 'dan', until: '2026-01-01T12:00:00.000Z', override: true });
  assert.deepEqual(at('12:00'), { userId: 'eve', label: 'eve', until: '2026-01-01T13:00:00.000Z', override: true });
  assert.deepEqual(at('13:00'), { userId: 'dan', label: 'dan', until: '2026-01-01T20:00:00.000Z', override: true });
  assert.deepEqual(at('20:00'), { userId: 'ann', label: 'ann', until: '2026-01-02T09:00:00.000Z', override: false });
});

test('without participants nobody is on call, except by override', () => {
  const base = { timezone: 'UTC', participants: [], handoff: { interval: 'daily' as const, time: '09:00' } };
  const rotation = { ...base, ...anchorAt(base, '2026-01-01T00:00:00.000Z', 0) };
  assert.equal(onCallAt(rotation, [], '2026-01-01T00:00:00.000Z'), undefined);
  const override = { id: 'ovr_1', userId: 'dan', label: 'dan', startsAt: '2026-01-02T00:00:00.000Z', endsAt: '2026-01-03T00:00:00.000Z' };
  const shifts = shiftsBetween(rotation, [override], '2026-01-01T00:00:00.000Z', '2026-01-05T00:00:00.000Z');
  assert.deepEqual(gapsBetween(shifts, '2026-01-01T00:00:00.000Z', '2026-01-05T00:00:00.000Z').length, 2);
});
