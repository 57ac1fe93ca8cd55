import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anchorAt, type Handoff, shiftsBetween, turnAt } from '../../rules/rotation.ts';

// Samoa crossed the date line: after 29 December 2011 came the 31st.
const people = ['ann', 'bob', 'cid'].map((userId) => ({ userId, label: userId }));
const rotationOf = (handoff: Handoff, createdAt: string) => {
  const base = { timezone: 'Pacific/Apia', participants: people, handoff };
  return { ...base, ...anchorAt(base, createdAt, 0) };
};
const wall = (at: string) => Temporal.Instant.from(at).toZonedDateTimeISO('Pacific/Apia').toPlainDateTime().toString().slice(5, 16);

for (const [told, createdAt] of [
  ['made before', '2011-12-27T19:00:00.000Z'],
  ['made long after', '2026-06-01T00:00:00.000Z'],
])
  test(`a daily rotation ${told} it goes on in order, each for 24 hours`, () => {
    const rotation = rotationOf({ interval: 'daily', time: '09:00' }, createdAt!);
    const shifts = shiftsBetween(rotation, [], '2011-12-27T19:00:00.000Z', '2012-01-02T19:00:00.000Z');
    assert.deepEqual(
      shifts.map((s) => wall(s.startsAt)),
      ['12-27T09:00', '12-28T09:00', '12-29T09:00', '12-31T09:00', '01-01T09:00', '01-02T09:00'],
    );
    const first = turnAt(rotation, shifts[0]!.startsAt)!;
    assert.deepEqual(
      shifts.map((s) => s.userId),
      shifts.map((_, i) => people[(first + i) % 3]!.userId),
    );
  });

test('a week that hands over on the date left out does so on the next day, once', () => {
  const rotation = rotationOf({ interval: 'weekly', dow: 5, time: '09:00' }, '2011-12-20T00:00:00.000Z');
  const shifts = shiftsBetween(rotation, [], '2011-12-23T19:00:00.000Z', '2012-01-12T19:00:00.000Z');
  assert.deepEqual(
    shifts.map((s) => [wall(s.startsAt), s.userId]),
    [
      ['12-23T09:00', 'bob'],
      ['12-31T09:00', 'cid'],
      ['01-06T09:00', 'ann'],
    ],
  );
});
