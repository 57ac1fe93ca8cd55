import { type Shift, shiftsBetween } from './rotation.ts';
import type { Override } from './types.ts';

type Rotation = Parameters<typeof shiftsBetween>[0];

export interface OwnShifts {
  /** On call now. `until`: absent when the shift goes on beyond the time looked at. */
  now?: { until?: string; next?: { userId: string; label: string } };
  /** The next shift, if none is now. */
  next?: { startsAt: string; endsAt: string };
}

/** A person's shifts that follow each other without a gap are one. */
export function ownShifts(rotation: Rotation, overrides: readonly Override[], userId: string, from: string, to: string): OwnShifts {
  const shifts = shiftsBetween(rotation, overrides, from, to);
  const first = shifts.findIndex((shift) => shift.userId === userId);
  if (first < 0) return {};
  const last = endOfRun(shifts, first);
  const { startsAt } = shifts[first]!;
  const { endsAt } = shifts[last]!;
  if (startsAt > from) return { next: { startsAt, endsAt } };
  if (endsAt >= to) return { now: {} };
  const after = shifts[last + 1];
  return { now: { until: endsAt, ...(after?.startsAt === endsAt ? { next: { userId: after.userId, label: after.label } } : {}) } };
}

function endOfRun(shifts: readonly Shift[], first: number): number {
  let last = first;
  while (shifts[last + 1]?.userId === shifts[first]!.userId && shifts[last + 1]!.startsAt === shifts[last]!.endsAt) last++;
  return last;
}
