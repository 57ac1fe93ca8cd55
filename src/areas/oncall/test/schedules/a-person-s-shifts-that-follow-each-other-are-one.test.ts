import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownShifts } from '../../rules/own-shifts.ts';

const ann = { userId: 'usr_ann', label: 'Ann' };
const bo = { userId: 'usr_bo', label: 'Bo' };
const rotation = (...participants: (typeof ann)[]) => ({
  timezone: 'UTC',
  participants,
  handoff: { interval: 'daily' as const, time: '09:00' },
  anchorDate: '2026-06-01',
  anchorIndex: 0,
});
const from = '2026-06-01T12:00:00.000Z';
const to = '2026-06-29T12:00:00.000Z';
const override = (userId: string, startsAt: string, endsAt: string) => ({ id: 'ovr_1', userId, label: 'x', startsAt, endsAt });

test('a person is on call until another person follows, whatever begins meanwhile', () => {
  assert.deepEqual(ownShifts(rotation(ann, bo), [], ann.userId, from, to), {
    now: { until: '2026-06-02T09:00:00.000Z', next: bo },
  });
  assert.deepEqual(ownShifts(rotation(ann, ann, bo), [], ann.userId, from, to), {
    now: { until: '2026-06-03T09:00:00.000Z', next: bo },
  });
  const prolonged = [override(ann.userId, '2026-06-02T09:00:00.000Z', '2026-06-02T15:00:00.000Z')];
  assert.deepEqual(ownShifts(rotation(ann, bo), prolonged, ann.userId, from, to), {
    now: { until: '2026-06-02T15:00:00.000Z', next: bo },
  });
});

test('a person who is alone is on call without an end, and one who is not has a next shift', () => {
  assert.deepEqual(ownShifts(rotation(ann), [], ann.userId, from, to), { now: {} });
  assert.deepEqual(ownShifts(rotation(ann, bo), [], bo.userId, from, to), {
    next: { startsAt: '2026-06-02T09:00:00.000Z', endsAt: '2026-06-03T09:00:00.000Z' },
  });
  assert.deepEqual(ownShifts(rotation(ann), [], bo.userId, from, to), {});
});

test('when no one follows, no one is named', () => {
  const alone = [override(bo.userId, '2026-06-01T11:00:00.000Z', '2026-06-01T13:00:00.000Z')];
  assert.deepEqual(ownShifts(rotation(), alone, bo.userId, from, to), { now: { until: '2026-06-01T13:00:00.000Z' } });
});
