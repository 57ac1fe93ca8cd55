/** One change of the clock somewhere: what the wall showed before and shows from then on. */
export interface ClockChange {
  zone: string;
  at: number;
  /** Seconds that the clock jumps: forward, or below zero back. */
  jump: number;
  before: Temporal.PlainDateTime;
  after: Temporal.PlainDateTime;
}

export const allZones = Intl.supportedValuesOf('timeZone');

const begin = Temporal.Instant.from('1970-01-01T00:00:00Z');
const end = Date.UTC(2038, 0, 1);

const known = new Map<string, ClockChange[]>();

/** Every change of a zone's clock from 1970 to 2037, oldest first; looked for once. */
export function changesOf(zone: string): ClockChange[] {
  const changes = known.get(zone) ?? findChanges(zone);
  known.set(zone, changes);
  return changes;
}

function findChanges(zone: string): ClockChange[] {
  const changes: ClockChange[] = [];
  let last = begin.toZonedDateTimeISO(zone);
  // Three changes a year are more than any zone has had.
  for (let n = 0; n < 3 * 68; n++) {
    const next = last.getTimeZoneTransition('next');
    if (!next || next.epochMilliseconds >= end) break;
    const jump = (next.offsetNanoseconds - next.subtract({ nanoseconds: 1 }).offsetNanoseconds) / 1e9;
    const after = next.toPlainDateTime();
    if (jump) changes.push({ zone, at: next.epochMilliseconds, jump, before: after.subtract({ seconds: jump }), after });
    last = next;
  }
  return changes;
}

/** Changes at the same hour of the day by the same jump are alike to a rotation. The newest of each kind. */
export const distinct = (changes: readonly ClockChange[]): ClockChange[] => [
  ...new Map(changes.map((c) => [`${c.before.toPlainTime()} ${c.jump}`, c])).values(),
];

/** Handoffs that a change may upset: midnight, its edges, and the middle of what it skips or repeats. */
export function handoffsNear({ before, after, jump }: ClockChange): string[] {
  const minute = (at: Temporal.PlainDateTime, minutes: number) => at.add({ minutes }).toPlainTime().toString({ smallestUnit: 'minute' });
  const middle = (jump > 0 ? before : after).add({ seconds: Math.round(Math.abs(jump) / 2) });
  return [...new Set(['00:00', minute(before, 0), minute(before, -1), minute(after, 0), minute(after, 1), minute(middle, 0)])];
}
