import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { now } from '../../../kernel/time.ts';
import { writeCalendar } from '../rules/calendar.ts';
import { shiftsBetween } from '../rules/rotation.ts';
import * as store from '../store/schedules.ts';

const dayMs = 86_400_000;

/** From the same function that pages. */
export const getScheduleCalendar = operation(oncall.getScheduleCalendar, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const at = await now(tx);
    const from = new Date(Date.parse(at) - 28 * dayMs).toISOString();
    const to = new Date(Date.parse(at) + 365 * dayMs).toISOString();
    const rota = (await store.rotaOf(tx, ctx.org, params.id, from, to)) ?? notFound('schedule');
    return ok(writeCalendar({ id: params.id, name: rota.name }, shiftsBetween(rota.rotation, rota.overrides, from, to), at));
  }),
);
