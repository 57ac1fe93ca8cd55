import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { renderCalendarFeed } from '../engine/calendar/feed.ts';

export const getScheduleCalendar = operation(oncall.getScheduleCalendar, async ({ ctx, params }) =>
  ctx.read(async (tx) => ok((await renderCalendarFeed(tx, ctx.org, params.id)) ?? notFound('schedule'))),
);
