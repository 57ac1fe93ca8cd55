// The shifts of a schedule as events that keep their ids.
import type { Override, Shift } from './rotation.ts';

export interface CalendarEvent {
  uid: string;
  startsAt: string;
  endsAt: string;
  label: string;
}

/** A schedule with handoffs every day has 393 in the feed's time, and each override adds two at most. */
export const maxEvents = 3_000;

/**
 * An event is named by when its shift begins. Whatever was under way when the feed's time begins seems to begin then, a little later every
 * time it is asked: an override keeps its own beginning, and a turn of the rotation, over since weeks, is left out. Of too many the oldest
 * are left out.
 */
export function calendarEvents(
  scheduleId: string,
  shifts: readonly Shift[],
  overrides: readonly Override[],
  from: string,
): CalendarEvent[] {
  const begins = new Map(overrides.map((o) => [o.id, o.startsAt]));
  return shifts
    .flatMap(({ startsAt: seemsToStart, endsAt, label, overrideId }) => {
      const isCut = seemsToStart <= from;
      if (isCut && !overrideId) return [];
      const startsAt = (isCut && overrideId && begins.get(overrideId)) || seemsToStart;
      return [{ uid: `${scheduleId}-${startsAt}`, startsAt, endsAt, label }];
    })
    .slice(-maxEvents);
}
