import { onCallAt } from '../rules/rotation.ts';
import type { CalendarLink } from '../store/calendar-links.ts';
import { type OverrideRow, overrideOf, rotationOf, type ScheduleRow } from '../store/schedules.ts';

/** A schedule as callers see it, with who is on call at `at`. */
export function scheduleView(schedule: ScheduleRow, rows: OverrideRow[], at: string) {
  const overrides = rows.map(overrideOf);
  const onCallNow = onCallAt(rotationOf(schedule), overrides, at);
  return {
    id: schedule.id,
    name: schedule.name,
    timezone: schedule.timezone,
    participants: schedule.participants,
    handoff: schedule.handoff,
    ...(onCallNow ? { onCallNow } : {}),
    overrides,
    createdAt: schedule.created_at,
  };
}

export const calendarLinkView = ({ id, name, created_at }: CalendarLink) => ({ id, name, createdAt: created_at });
