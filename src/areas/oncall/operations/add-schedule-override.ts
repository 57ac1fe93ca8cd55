import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { invalid, notFound } from '../../../kernel/errors.ts';
import { checkPerson } from '../people.ts';
import * as store from '../store/schedules.ts';

export const addScheduleOverride = operation(oncall.addScheduleOverride, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const schedule = (await store.lockSchedule(tx, ctx.org, params.id)) ?? notFound('schedule');
    const [from, to] = [body.startsAt, body.endsAt].map((t) => new Date(t).getTime()) as [number, number];
    if (to <= from) invalid('endsAt must be after startsAt');
    const person = await checkPerson(tx, ctx.org, body);

    const override = await store.insertOverride(tx, ctx.org, schedule.id, { ...person, startsAt: body.startsAt, endsAt: body.endsAt });
    await audit(tx, ctx, 'oncall.override.create', override, {
      schedule: schedule.id,
      user: person.userId,
      startsAt: body.startsAt,
      endsAt: body.endsAt,
    });
    return created(store.overrideOf(override), `/oncall/schedules/${schedule.id}/overrides/${override.id}`);
  }),
);
