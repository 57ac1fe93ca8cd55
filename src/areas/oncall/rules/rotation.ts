// The person on call at an instant: one rotation and its overrides, computed from an anchor. A shift change stores nothing, so it cannot be
// late or missed. The calendar feed, the preview and paging call the same function.
import { assertProgress } from '../../../kernel/assert-progress.ts';
import { flattenOverrides, type Span, spansOf } from './flatten-overrides.ts';
import type { Override, Person } from './types.ts';

export interface Handoff {
  interval: 'daily' | 'weekly';
  /** 0 and 7 are Sunday; weekly without it means Monday. */
  dow?: number | undefined;
  /** HH:MM on the schedule's wall clock. */
  time: string;
}

export interface Rotation {
  timezone: string;
  participants: readonly Person[];
  handoff: Handoff;
  /** The local date of the shift that `anchorIndex` has. */
  anchorDate: string;
  anchorIndex: number;
}

export interface OnCall extends Person {
  until: string;
  override: boolean;
}

export interface Shift extends Person {
  startsAt: string;
  endsAt: string;
  /** Present if the shift comes from an override. */
  overrideId?: string;
}

const instant = (text: string) => Temporal.Instant.from(text);
const iso = (epochMs: number) => new Date(epochMs).toISOString();
const dayMs = 86_400_000;

/**
 * A handoff's instant on a date. A time that the clock skips moves behind the gap by the gap's length; a time that occurs twice means its
 * first occurrence.
 */
function boundaryMs(rotation: Rotation, date: Temporal.PlainDate): number {
  const [hour = 0, minute = 0] = rotation.handoff.time.split(':').map(Number);
  return date.toPlainDateTime({ hour, minute }).toZonedDateTime(rotation.timezone, { disambiguation: 'compatible' }).epochMilliseconds;
}

/** Offsets in days from the local date at which the latest handoff may lie: no clock has moved by more than one day. */
const candidateDays = [1, 0, -1, -2];

/**
 * The newest date whose handoff has passed. It compares instants, not wall clocks: where a clock falls back past midnight, tomorrow's
 * handoff has passed already; where a zone skips a date, yesterday's has not.
 */
function handoffDate(rotation: Rotation, at: number): Temporal.PlainDate {
  const today = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(rotation.timezone).toPlainDate();
  const days = candidateDays.find((n) => boundaryMs(rotation, today.add({ days: n })) <= at);
  if (days === undefined) throw new Error(`no handoff at ${rotation.handoff.time} in ${rotation.timezone} comes before ${iso(at)}`);
  return today.add({ days });
}

/** The date on which the shift that covers `at` began. */
function shiftDate(rotation: Rotation, at: number): Temporal.PlainDate {
  const date = handoffDate(rotation, at);
  if (rotation.handoff.interval === 'daily') return date;
  const dow = (rotation.handoff.dow ?? 1) % 7 || 7;
  return date.subtract({ days: (date.dayOfWeek - dow + 7) % 7 });
}

const stepDays = (handoff: Handoff) => (handoff.interval === 'daily' ? 1 : 7);

/**
 * The number of handoffs between two dates of the rotation. A zone that crosses the date line skips a date (Samoa had no 30 December 2011).
 * Its handoff coincides with the next date's, and no person loses a turn.
 */
function turnsBetween(rotation: Rotation, first: Temporal.PlainDate, then: Temporal.PlainDate): number {
  if (Temporal.PlainDate.compare(first, then) > 0) return -turnsBetween(rotation, then, first);
  const { days } = first.until(then, { largestUnit: 'days' });
  if (rotation.handoff.interval === 'weekly') return Math.round(days / 7);
  return Math.min(days, Math.round((boundaryMs(rotation, then) - boundaryMs(rotation, first)) / dayMs));
}

const turnIndex = (rotation: Rotation, date: Temporal.PlainDate): number => {
  const n = rotation.participants.length;
  const index = turnsBetween(rotation, Temporal.PlainDate.from(rotation.anchorDate), date) + rotation.anchorIndex;
  return ((index % n) + n) % n;
};

/** The rotation's shift at an instant, without overrides. */
function rotationShift(rotation: Rotation, at: number): { person: Person; endMs: number } | undefined {
  if (!rotation.participants.length) return undefined;
  const date = shiftDate(rotation, at);
  return {
    person: rotation.participants[turnIndex(rotation, date)]!,
    endMs: boundaryMs(rotation, date.add({ days: stepDays(rotation.handoff) })),
  };
}

/** The anchor of a new rotation, or of one whose handoff or zone changes: the person keeps the current shift. */
export function anchorAt(
  rotation: Omit<Rotation, 'anchorDate' | 'anchorIndex'>,
  at: string,
  index: number,
): Pick<Rotation, 'anchorDate' | 'anchorIndex'> {
  const date = shiftDate({ ...rotation, anchorDate: '1970-01-01', anchorIndex: 0 }, instant(at).epochMilliseconds);
  return { anchorDate: date.toString(), anchorIndex: index };
}

/** The index of the current participant, without overrides. */
export function turnAt(rotation: Rotation, at: string): number | undefined {
  return rotation.participants.length ? turnIndex(rotation, shiftDate(rotation, instant(at).epochMilliseconds)) : undefined;
}

/** All participants in order, starting with the current one. */
export function turnsFrom(rotation: Rotation, at: string): Person[] {
  const first = turnAt(rotation, at) ?? 0;
  return [...rotation.participants.slice(first), ...rotation.participants.slice(0, first)];
}

const namesOf = (people: readonly Person[]) => people.map((p) => p.userId);

/**
 * A rotation after a change. A new order of the same people keeps the anchor, so reordering shifts the rotation. Joining, leaving, another
 * zone or another handoff move the anchor, so that the person on call keeps the current shift. If that person leaves, the next in line
 * takes it.
 */
export function reanchored(before: Rotation, after: Omit<Rotation, 'anchorDate' | 'anchorIndex'>, at: string): Rotation {
  const sameClock = before.timezone === after.timezone && JSON.stringify(before.handoff) === JSON.stringify(after.handoff);
  const samePeople = namesOf(before.participants).sort().join(' ') === namesOf(after.participants).sort().join(' ');
  if (sameClock && samePeople) return { ...after, anchorDate: before.anchorDate, anchorIndex: before.anchorIndex };
  if (samePeople) return { ...after, ...anchorAt(after, at, turnAt(before, at) ?? 0) };
  return { ...after, ...anchorAt(after, at, indexOfCurrentTurn(namesOf(turnsFrom(before, at)), namesOf(after.participants))) };
}

/**
 * The index of the current turn in the new order. `turns` starts with it. A person may have several turns; the best match is the one after
 * which most others follow as before.
 */
function indexOfCurrentTurn(turns: readonly string[], after: readonly string[]): number {
  const [known, staying] = [new Set(turns), new Set(after)];
  const then = turns.filter((id) => staying.has(id));
  let [best, longest] = [0, 0];
  for (const [i, id] of after.entries()) {
    if (id !== then[0]) continue;
    const from = [...after.slice(i), ...after.slice(0, i)].filter((each) => known.has(each));
    const firstDifference = from.findIndex((each, n) => each !== then[n]);
    const matching = firstDifference < 0 ? from.length : firstDifference;
    if (matching > longest) [best, longest] = [i, matching];
  }
  return best;
}

/** The person on call and until when: by the newest override that covers the instant, else by the rotation. */
export function onCallAt(rotation: Rotation, overrides: readonly Override[], at: string): OnCall | undefined {
  const now = instant(at).epochMilliseconds;
  const spans = spansOf(overrides);
  const winner = spans
    .filter((s) => s.from <= now && now < s.to)
    .reduce((a, b) => (a && a.id > b.id ? a : b), undefined as Span | undefined);
  const shift = winner ? undefined : rotationShift(rotation, now);
  const person = winner?.person ?? shift?.person;
  if (!person) return undefined;
  const laterOverrides = spans.filter((s) => s.from > now && (!winner || s.id > winner.id));
  const until = laterOverrides.reduce((least, s) => Math.min(least, s.from), winner?.to ?? shift!.endMs);
  return { userId: person.userId, label: person.label, until: iso(until), override: winner !== undefined };
}

interface ShiftPiece {
  person: Person;
  from: number;
  to: number;
  overrideId?: string;
}

/** The rotation's shifts between two instants. Each covers its own date, which bounds their number. */
function rotationBetween(rotation: Rotation, from: number, to: number): ShiftPiece[] {
  const pieces: ShiftPiece[] = [];
  const assertAdvance = assertProgress(`the rotation in ${rotation.timezone}`, Math.ceil((to - from) / dayMs) + candidateDays.length);
  for (let at = from; at < to; ) {
    assertAdvance(at);
    const shift = rotationShift(rotation, at);
    if (!shift) break;
    pieces.push({ person: shift.person, from: at, to: Math.min(shift.endMs, to) });
    at = shift.endMs;
  }
  return pieces;
}

/** All shifts between two instants, oldest first. A hole means that the schedule is empty then. */
export function shiftsBetween(rotation: Rotation, overrides: readonly Override[], from: string, to: string): Shift[] {
  const [begin, end] = [Date.parse(from), Date.parse(to)];
  const substituted = flattenOverrides(overrides, begin, end);
  const starts = [begin, ...substituted.map((s) => s.to)];
  const rest = starts.map((start, i) => ({ from: start, to: substituted[i]?.from ?? end }));
  const pieces: ShiftPiece[] = [
    ...substituted.map((s) => ({ person: s.person, from: s.from, to: s.to, overrideId: s.id })),
    ...clipToHoles(rest, rotationBetween(rotation, begin, end)),
  ];
  return pieces
    .sort((a, b) => a.from - b.from)
    .map(({ person: { userId, label }, overrideId, ...piece }) => ({
      userId,
      label,
      startsAt: iso(piece.from),
      endsAt: iso(piece.to),
      ...(overrideId ? { overrideId } : {}),
    }));
}

/** The parts of the pieces inside the holes. Both lists are sorted and without overlap. */
function clipToHoles(holes: readonly { from: number; to: number }[], pieces: readonly ShiftPiece[]): ShiftPiece[] {
  let first = 0;
  return holes.flatMap((hole) => {
    while (first < pieces.length && pieces[first]!.to <= hole.from) first++;
    const found: ShiftPiece[] = [];
    for (let i = first; i < pieces.length && pieces[i]!.from < hole.to; i++)
      found.push({ ...pieces[i]!, from: Math.max(pieces[i]!.from, hole.from), to: Math.min(pieces[i]!.to, hole.to) });
    return found.filter((piece) => piece.from < piece.to);
  });
}

/** The gaps between the shifts. */
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
