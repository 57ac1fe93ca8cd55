import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { now } from '../../../kernel/time.ts';
import { parseWindow } from '../rules/query-time.ts';
import { shiftsBetween } from '../rules/rotation.ts';
import * as store from '../store/schedules.ts';

const maxDays = 366;

export const listScheduleShifts = operation(oncall.listScheduleShifts, async ({ ctx, params, query }) =>
  ctx.read(async (tx) => {
    const { from, to } = parseWindow(query, await now(tx), maxDays);
    const rota = (await store.rotaOf(tx, ctx.org, params.id, from, to)) ?? notFound('schedule');
    return ok({ shifts: shiftsBetween(rota.rotation, rota.overrides, from, to) });
  }),
);
