import type { Tx } from '../../../../kernel/db/index.ts';
import { now } from '../../../../kernel/time.ts';
import { calendarEvents } from '../../rules/calendar.ts';
import { formatCalendar } from '../../rules/icalendar.ts';
import { shiftsBetween } from '../../rules/rotation.ts';
import { rotaOf } from '../../store/schedules.ts';

const dayMs = 86_400_000;

/** The shifts of a schedule from 28 days ago to a year ahead, in UTC. Paging uses the same function. Undefined: no such schedule. */
export async function renderCalendarFeed(tx: Tx, org: string, scheduleId: string): Promise<string | undefined> {
  const at = await now(tx);
  const from = new Date(Date.parse(at) - 28 * dayMs).toISOString();
  const to = new Date(Date.parse(at) + 365 * dayMs).toISOString();
  const rota = await rotaOf(tx, org, scheduleId, from, to);
  if (!rota) return undefined;
  const shifts = shiftsBetween(rota.rotation, rota.overrides, from, to);
  return formatCalendar(rota, calendarEvents(scheduleId, shifts, rota.overrides, from), at);
}
