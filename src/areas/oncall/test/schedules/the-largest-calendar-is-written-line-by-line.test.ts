import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import ical from 'node-ical';
import { formatCalendar } from '../../rules/icalendar.ts';

const shiftAt = (minute: number, label: string) => ({
  uid: `sch_1-${new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()}`,
  label,
  startsAt: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
  endsAt: new Date(Date.UTC(2026, 0, 1, 0, minute + 1)).toISOString(),
});

test('whatever people are called, an independent reader finds every shift, and no line has more than 75 octets', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 100 }), { maxLength: 20 }),
      fc.string({ maxLength: 100 }),
      (labels, name) => {
        const shifts = labels.map((label, i) => shiftAt(i, label));
        const text = formatCalendar({ name }, shifts, '2026-01-01T00:00:00.000Z');
        for (const line of text.split('\r\n')) assert.ok(Buffer.byteLength(line) <= 75, line);
        assert.doesNotMatch(text.replaceAll('\r\n', ''), /[\r\n]/);
        const events = Object.values(ical.sync.parseICS(text)).filter((e) => e?.type === 'VEVENT');
        assert.deepEqual(
          events.map((e) => [e.uid, (e.start as Date).toISOString(), (e.end as Date).toISOString()]),
          shifts.map((s) => [`sch_1-${s.startsAt}`, s.startsAt, s.endsAt]),
        );
      },
    ),
  );
});

test('a reader gets the words as they were', () => {
  const label = 'Ada, Countess; of \\ Lovelace 🦜'.repeat(4);
  const text = formatCalendar({ name: 'night' }, [shiftAt(0, label)], '2026-01-01T00:00:00.000Z');
  const [event] = Object.values(ical.sync.parseICS(text)).filter((e) => e?.type === 'VEVENT');
  assert.equal(event!.summary, `${label} on call`);
});
