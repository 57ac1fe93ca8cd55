// The shifts of a schedule as calendar events with stable ids.
import type { Shift } from './rotation.ts';
import type { Override } from './types.ts';

export interface CalendarEvent {
  uid: string;
  startsAt: string;
  endsAt: string;
  label: string;
}

/** A daily rotation has 393 events in the feed's range, and each override adds at most two. */
export const maxEvents = 3_000;

/**
 * An event's id contains the start of its shift. A shift under way at the start of the feed's range would change its id with every request.
 * So an override keeps its real start, and a rotation shift, which ended weeks ago, is left out. Above the limit the oldest events are left
 * out.
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
