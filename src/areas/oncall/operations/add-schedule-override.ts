import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { conflict, invalid, notFound } from '../../../kernel/errors.ts';
import { now } from '../../../kernel/time.ts';
import { checkPerson } from '../engine/check-people.ts';
import * as store from '../store/schedules.ts';

/** Somebody who asks for the shifts of a year, or subscribes to them, gets all of this in one answer. */
const mostOverrides = 1_000;

export const addScheduleOverride = operation(oncall.addScheduleOverride, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const schedule = (await store.lockSchedule(tx, ctx.org, params.id)) ?? notFound('schedule');
    const [startsAt, endsAt] = [new Date(body.startsAt).toISOString(), new Date(body.endsAt).toISOString()];
    if (endsAt <= startsAt) invalid('endsAt must be after startsAt');
    if (endsAt <= (await now(tx))) invalid('endsAt lies in the past, where nobody is paged any more; send a later end');
    const person = await checkPerson(tx, ctx.org, body);
    if ((await store.countOverrides(tx, ctx.org, schedule.id)) >= mostOverrides)
      conflict(`the schedule ${schedule.name} has 1,000 overrides under way and ahead; remove some first`);

    const override = await store.insertOverride(tx, ctx.org, schedule.id, { ...person, startsAt, endsAt });
    await audit(tx, ctx, 'oncall.override.create', override, { schedule: schedule.id, user: person.userId, startsAt, endsAt });
    return created(store.overrideOf(override), `/oncall/schedules/${schedule.id}/overrides/${override.id}`);
  }),
);
