import { ICalCalendarMethod, default as makeCalendar } from 'ical-generator';
import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { now } from '../../../kernel/time.ts';
import { shiftsBetween } from '../rules/rotation.ts';
import * as store from '../store/schedules.ts';

const dayMs = 86_400_000;

/** In UTC, from the same function that pages. An event keeps its id for as long as its shift begins when it does. */
export const getScheduleCalendar = operation(oncall.getScheduleCalendar, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const at = await now(tx);
    const from = new Date(Date.parse(at) - 28 * dayMs).toISOString();
    const to = new Date(Date.parse(at) + 365 * dayMs).toISOString();
    const rota = (await store.rotaOf(tx, ctx.org, params.id, from, to)) ?? notFound('schedule');
    const calendar = makeCalendar({
      name: `On call: ${rota.name}`,
      method: ICalCalendarMethod.PUBLISH,
      prodId: { company: 'Quarterdeck', product: 'on-call' },
    });
    for (const shift of shiftsBetween(rota.rotation, rota.overrides, from, to)) {
      calendar.createEvent({
        id: `${params.id}-${shift.startsAt}`,
        start: new Date(shift.startsAt),
        end: new Date(shift.endsAt),
        summary: `${shift.label} on call`,
        stamp: new Date(at),
      });
    }
    return ok(calendar.toString());
  }),
);
