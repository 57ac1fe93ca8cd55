import { audit } from '../../../../identity/audit.ts';
import type { Ctx } from '../../../../identity/context.ts';
import { mintKey } from '../../../../identity/token-format.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../../kernel/errors.ts';
import * as store from '../../store/calendar-links.ts';
import type { ScheduleRow } from '../../store/schedules.ts';

const maxLinksPerSchedule = 20;

/** Adds an address to a locked schedule. The address is returned only here; the database keeps a hash. */
export async function makeCalendarLink(tx: Tx, ctx: Ctx, schedule: ScheduleRow, name: string) {
  if ((await store.countCalendarLinks(tx, ctx.org, schedule.id)) >= maxLinksPerSchedule)
    conflict(`the schedule has ${maxLinksPerSchedule} calendar links, the most there can be; revoke one first`);
  const { key, hash } = mintKey('cal');
  const link = await store.insertCalendarLink(tx, ctx.org, schedule.id, { name, hash });
  await audit(tx, ctx, 'oncall.calendar-link.create', link, { name, scheduleId: schedule.id });
  return { link, url: `${ctx.app.publicUrl()}/oncall/calendar/${key}.ics` };
}

/** After the commit the address answers 404. */
export async function revokeCalendarLink(tx: Tx, ctx: Ctx, scheduleId: string, id: string): Promise<void> {
  const link = (await store.deleteCalendarLink(tx, ctx.org, scheduleId, id)) ?? notFound('calendar link');
  await audit(tx, ctx, 'oncall.calendar-link.delete', link, { name: link.name, scheduleId });
}
