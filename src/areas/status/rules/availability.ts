import type { Observed, Span } from './board.ts';

/** The colour of a day: not watched, no downtime, little downtime, or more. */
export type DayLook = 'none' | 'up' | 'some' | 'down';

/** From this share of a day (72 minutes) it counts as down. */
const badDayShare = 0.05;
export const shownDays = 90;

const lookOf = (day: Span | undefined): DayLook => {
  if (!day || day.watchedSeconds <= 0) return 'none';
  if (day.downSeconds <= 0) return 'up';
  return day.downSeconds / day.watchedSeconds < badDayShare ? 'some' : 'down';
};

export interface DayRun {
  look: DayLook;
  /** Index of its first day, from the oldest shown. */
  from: number;
  days: number;
}

/** The last 90 days as runs of equal days. */
export function runsOf(days: Observed['days'], today: string): DayRun[] {
  const byDate = new Map(days.map((d) => [d.date, d]));
  const runs: DayRun[] = [];
  for (let n = 0; n < shownDays; n++) {
    const look = lookOf(byDate.get(dayBefore(today, shownDays - 1 - n)));
    const last = runs.at(-1);
    if (last?.look === look) last.days++;
    else runs.push({ look, from: n, days: 1 });
  }
  return runs;
}

export const dayBefore = (date: string, days: number): string => {
  const ms = Date.parse(`${date}T00:00:00Z`) - days * 86_400_000;
  return new Date(ms).toISOString().slice(0, 10);
};

/** Percent of the watched time, rounded down: 99.999 is not 100. Undefined if nothing was watched. */
export function availability(spans: readonly Span[]): number | undefined {
  const watched = spans.reduce((sum, s) => sum + s.watchedSeconds, 0);
  if (watched <= 0) return undefined;
  const down = Math.min(
    watched,
    spans.reduce((sum, s) => sum + s.downSeconds, 0),
  );
  return Math.floor(10_000 * (1 - down / watched) + 1e-6) / 100;
}

/** Days within the last 90. */
export const shownOf = (days: Observed['days'], today: string) =>
  days.filter((d) => d.date > dayBefore(today, shownDays) && d.date <= today);

/** The days of the last 90 with downtime, newest first. */
export const badDays = (days: Observed['days'], today: string) =>
  shownOf(days, today)
    .filter((d) => d.downSeconds > 0 && d.watchedSeconds > 0)
    .toReversed();
