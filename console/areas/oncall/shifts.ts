import type { Api } from '../../../sdk/browser.ts';
import type { TimelineBar, TimelineRow } from '../../plots/timeline.tsx';

export type Shifts = Awaited<ReturnType<Api['oncall']['listShifts']>>;

/** What the shifts hang on. */
export const shiftKinds = ['oncall.schedule', 'organization.member'];

/** Rows of the timeline; gaps are bars too, so that they are seen. */
export function rowsOf({ schedules, shifts, gaps = [] }: Shifts, onlyMine: boolean): TimelineRow[] {
  const rows = schedules.map(({ id, name }) => ({
    id,
    name,
    to: `/oncall/schedules/${id}`,
    bars: [
      ...shifts
        .filter(({ scheduleId, mine }) => scheduleId === id && (mine || !onlyMine))
        .map(
          ({ label, mine, overrideId, startsAt, endsAt }): TimelineBar => ({
            key: `${startsAt} ${label}`,
            label,
            kind: overrideId ? 'override' : mine ? 'mine' : 'shift',
            startsAt: Date.parse(startsAt),
            endsAt: Date.parse(endsAt),
          }),
        ),
      ...gaps
        .filter(({ scheduleId }) => scheduleId === id && !onlyMine)
        .map(
          ({ startsAt, endsAt }): TimelineBar => ({
            key: `gap ${startsAt}`,
            label: 'No one',
            kind: 'gap',
            startsAt: Date.parse(startsAt),
            endsAt: Date.parse(endsAt),
          }),
        ),
    ].toSorted((a, b) => a.startsAt - b.startsAt),
  }));
  return onlyMine ? rows.filter(({ bars }) => bars.length) : rows;
}

/** Midnight of the viewer's day. */
export function startOfDay(at: number): number {
  const day = new Date(at);
  day.setHours(0, 0, 0, 0);
  return day.getTime();
}

/** For an input of the kind `datetime-local`, which knows no zone: the viewer's. */
export function localInput(at: number): string {
  const shifted = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

/** The moment that such an input names; undefined while it is half typed. */
export function momentOf(text: string): string | undefined {
  const at = new Date(text).getTime();
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}
