// Who is on call at an instant: one rotation and its overrides, computed from an anchor. Nothing is stored when a shift changes,
// so nothing can be late or missed; and the calendar feed, the preview and paging ask the same function.

export interface Handoff {
  interval: 'daily' | 'weekly';
  /** 0 and 7 are Sunday; weekly without it means Monday. */
  dow?: number | undefined;
  /** HH:MM on the schedule's wall clock. */
  time: string;
}

export interface Person {
  userId: string;
  label: string;
}

export interface Rotation {
  timezone: string;
  participants: readonly Person[];
  handoff: Handoff;
  /** The local date of the shift that `anchorIndex` has. */
  anchorDate: string;
  anchorIndex: number;
}

/** The newest wins where several cover an instant; ids sort by creation. */
export interface Override extends Person {
  id: string;
  startsAt: string;
  endsAt: string;
}

export interface OnCall extends Person {
  until: string;
  override: boolean;
}

export interface Shift extends Person {
  startsAt: string;
  endsAt: string;
  /** Present when an override put them there. */
  overrideId?: string;
}

const instant = (text: string) => Temporal.Instant.from(text);
const iso = (epochMs: number) => new Date(epochMs).toISOString();

/** A handoff's instant on a date. A time that the clock skips happens after the gap by the gap's length, one that happens twice at its first. */
function boundaryMs(rotation: Rotation, date: Temporal.PlainDate): number {
  const [hour = 0, minute = 0] = rotation.handoff.time.split(':').map(Number);
  return date.toPlainDateTime({ hour, minute }).toZonedDateTime(rotation.timezone, { disambiguation: 'compatible' }).epochMilliseconds;
}

/** The date on which the shift that covers `at` began. Instants are compared, not wall clocks: those repeat in autumn. */
function shiftDate(rotation: Rotation, at: number): Temporal.PlainDate {
  let date = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(rotation.timezone).toPlainDate();
  // A zone may skip a whole day, so the boundary of `date` may lie on the next one.
  while (at < boundaryMs(rotation, date)) date = date.subtract({ days: 1 });
  if (rotation.handoff.interval === 'daily') return date;
  const dow = (rotation.handoff.dow ?? 1) % 7 || 7;
  return date.subtract({ days: (date.dayOfWeek - dow + 7) % 7 });
}

const stepDays = (handoff: Handoff) => (handoff.interval === 'daily' ? 1 : 7);

const turn = (rotation: Rotation, date: Temporal.PlainDate): number => {
  const days = Temporal.PlainDate.from(rotation.anchorDate).until(date, { largestUnit: 'days' }).days;
  const n = rotation.participants.length;
  const index = Math.floor(days / stepDays(rotation.handoff)) + rotation.anchorIndex;
  return ((index % n) + n) % n;
};

/** The rotation's own shift at an instant, overrides aside. */
function rotationShift(rotation: Rotation, at: number): { person: Person; startMs: number; endMs: number } | undefined {
  if (!rotation.participants.length) return undefined;
  const date = shiftDate(rotation, at);
  return {
    person: rotation.participants[turn(rotation, date)]!,
    startMs: boundaryMs(rotation, date),
    endMs: boundaryMs(rotation, date.add({ days: stepDays(rotation.handoff) })),
  };
}

/** For a rotation that begins, or whose handoff or zone changes: the person keeps the shift they have. */
export function anchorAt(
  rotation: Omit<Rotation, 'anchorDate' | 'anchorIndex'>,
  at: string,
  index: number,
): Pick<Rotation, 'anchorDate' | 'anchorIndex'> {
  const date = shiftDate({ ...rotation, anchorDate: '1970-01-01', anchorIndex: 0 }, instant(at).epochMilliseconds);
  return { anchorDate: date.toString(), anchorIndex: index };
}

/** Whose turn it is by the rotation alone. */
export function turnAt(rotation: Rotation, at: string): number | undefined {
  return rotation.participants.length ? turn(rotation, shiftDate(rotation, instant(at).epochMilliseconds)) : undefined;
}

/**
 * A rotation after a change. Other people or another order keep the anchor, so reordering shifts the rotation; another zone or
 * handoff moves it, so that the person now on call keeps the shift they have.
 */
export function reanchored(before: Rotation, after: Omit<Rotation, 'anchorDate' | 'anchorIndex'>, at: string): Rotation {
  const same = before.timezone === after.timezone && JSON.stringify(before.handoff) === JSON.stringify(after.handoff);
  return {
    ...after,
    ...(same ? { anchorDate: before.anchorDate, anchorIndex: before.anchorIndex } : anchorAt(after, at, turnAt(before, at) ?? 0)),
  };
}

interface Span {
  override: Override;
  from: number;
  to: number;
}

const spans = (overrides: readonly Override[]): Span[] =>
  overrides
    .map((override) => ({ override, from: Date.parse(override.startsAt), to: Date.parse(override.endsAt) }))
    .sort((a, b) => (a.override.id < b.override.id ? 1 : -1));

/** What holds at an instant and until when: the newest override that covers it, else the rotation. */
function holding(rotation: Rotation, newestFirst: readonly Span[], at: number) {
  const active = newestFirst.findIndex((s) => s.from <= at && at < s.to);
  const winner = newestFirst[active];
  const shift = winner ? undefined : rotationShift(rotation, at);
  const rivals = (winner ? newestFirst.slice(0, active) : newestFirst).filter((s) => s.from > at);
  const ends = [winner?.to ?? shift?.endMs ?? Number.POSITIVE_INFINITY, ...rivals.map((s) => s.from)];
  const person = winner?.override ?? shift?.person;
  return { person: person && { userId: person.userId, label: person.label }, overrideId: winner?.override.id, until: Math.min(...ends) };
}

export function onCallAt(rotation: Rotation, overrides: readonly Override[], at: string): OnCall | undefined {
  const now = holding(rotation, spans(overrides), instant(at).epochMilliseconds);
  return now.person && { ...now.person, until: iso(now.until), override: now.overrideId !== undefined };
}

/** Everybody's turns between two instants, oldest first; a hole is a time when nobody is on call. */
export function shiftsBetween(rotation: Rotation, overrides: readonly Override[], from: string, to: string): Shift[] {
  const newestFirst = spans(overrides);
  const end = Date.parse(to);
  const shifts: Shift[] = [];
  for (let at = Date.parse(from); at < end; ) {
    const { person, overrideId, until } = holding(rotation, newestFirst, at);
    const stop = Math.min(until, end);
    if (person) shifts.push({ ...person, startsAt: iso(at), endsAt: iso(stop), ...(overrideId ? { overrideId } : {}) });
    at = stop;
  }
  return shifts;
}

/** Where nobody is on call between two instants. */
export function gapsBetween(shifts: readonly Shift[], from: string, to: string): { startsAt: string; endsAt: string }[] {
  const gaps: { startsAt: string; endsAt: string }[] = [];
  let reached = from;
  for (const shift of shifts) {
    if (shift.startsAt > reached) gaps.push({ startsAt: reached, endsAt: shift.startsAt });
    reached = shift.endsAt;
  }
  if (reached < to) gaps.push({ startsAt: reached, endsAt: to });
  return gaps;
}
