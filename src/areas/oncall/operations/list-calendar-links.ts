import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { calendarLinksOf } from '../store/calendar-links.ts';
import { hasSchedule } from '../store/schedules.ts';
import { calendarLinkView } from '../views/schedules.ts';

export const listCalendarLinks = operation(oncall.listCalendarLinks, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    if (!(await hasSchedule(tx, ctx.org, params.id))) notFound('schedule');
    return ok({ links: (await calendarLinksOf(tx, ctx.org, params.id)).map(calendarLinkView) });
  }),
);
