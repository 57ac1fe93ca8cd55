import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { invalid, notFound } from '../../../kernel/errors.ts';
import { now } from '../../../kernel/time.ts';
import { parseQueryTime } from '../rules/query-time.ts';
import { shiftsBetween } from '../rules/rotation.ts';
import * as store from '../store/schedules.ts';

const dayMs = 86_400_000;

export const listScheduleShifts = operation(oncall.listScheduleShifts, async ({ ctx, params, query }) =>
  ctx.read(async (tx) => {
    const from = query.from ? parseQueryTime('from', query.from) : await now(tx);
    const to = query.to ? parseQueryTime('to', query.to) : new Date(Date.parse(from) + 28 * dayMs).toISOString();
    if (to <= from) invalid('to must be after from');
    if (Date.parse(to) - Date.parse(from) > 366 * dayMs) invalid('to must be at most 366 days after from');
    const rota = (await store.rotaOf(tx, ctx.org, params.id, from, to)) ?? notFound('schedule');
    return ok({ shifts: shiftsBetween(rota.rotation, rota.overrides, from, to) });
  }),
);
