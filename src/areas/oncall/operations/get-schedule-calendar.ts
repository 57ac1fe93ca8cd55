import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { writeCalendar } from '../engine/calendar/feed.ts';

export const getScheduleCalendar = operation(oncall.getScheduleCalendar, async ({ ctx, params }) =>
  ctx.read(async (tx) => ok((await writeCalendar(tx, ctx.org, params.id)) ?? notFound('schedule'))),
);
