import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anchorAt, gapsBetween, onCallAt, shiftsBetween } from '../../rules/rotation.ts';
import { agreeWithTheList, followEachOther, keepTheShift, rotationOf } from './rotation-properties.ts';

// Some of each in every run; the campaign of clocks tries thousands.

test('shifts are contiguous, in order and none is lost, over a year of daylight saving in every zone', () => followEachOther(40));

test('whoever is on call at an instant is who the list of shifts names', () => agreeWithTheList(40));

test('a new handoff or zone keeps the shift of whoever has it', () => keepTheShift(40));

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
