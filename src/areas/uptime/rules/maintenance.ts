/** A mistyped year must not suppress alerts for a year. */
const maxDays = 31;
/** Tolerance for clients that send their own clock's `now`. */
const graceMs = 60_000;

/** Undefined: nothing to complain about. */
export function windowComplaint({ startsAt, endsAt, now }: { startsAt: string; endsAt: string; now: string }): string | undefined {
  const [from, to, at] = [startsAt, endsAt, now].map((t) => Date.parse(t)) as [number, number, number];
  if (from < at - graceMs) return 'startsAt lies in the past; leave it out to begin now';
  if (to <= from) return 'endsAt is not after startsAt; send a later end';
  if (to <= at) return 'endsAt lies in the past; send a later end';
  if (to - from > maxDays * 86_400_000) return `maintenance lasts ${maxDays} days at most; send an earlier end`;
  return undefined;
}

/** Metrics look seven days back and a step more; older checks are in no figure. */
const shownMs = (7 * 24 + 2) * 3_600_000;
const sliceMs = 6 * 3_600_000;

/** The part of a window that metrics still show, in slices of a few hours: in order, and never many. */
export function slicesOf({ startsAt, endsAt, now }: { startsAt: string; endsAt: string; now: string }): [from: string, to: string][] {
  const end = Math.min(Date.parse(endsAt), Date.parse(now));
  const slices: [string, string][] = [];
  for (let from = Math.max(Date.parse(startsAt), Date.parse(now) - shownMs); from < end; from += sliceMs)
    slices.push([new Date(from).toISOString(), new Date(Math.min(end, from + sliceMs)).toISOString()]);
  return slices;
}
