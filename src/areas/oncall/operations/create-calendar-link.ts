import { oncall } from '../../../../contract/oncall.ts';
import { created, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { makeCalendarLink } from '../engine/calendar/links.ts';
import { lockSchedule } from '../store/schedules.ts';
import { calendarLinkView } from '../views/schedules.ts';

export const createCalendarLink = operation(oncall.createCalendarLink, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const schedule = (await lockSchedule(tx, ctx.org, params.id)) ?? notFound('schedule');
    const made = await makeCalendarLink(tx, ctx, schedule, body.name);
    return created({ ...calendarLinkView(made.link), link: made.url }, `/oncall/schedules/${schedule.id}/calendar-links/${made.link.id}`);
  }),
);
