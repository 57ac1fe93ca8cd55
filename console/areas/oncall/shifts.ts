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
