import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { now } from '../../../kernel/time.ts';
import { addOverride } from '../engine/schedules.ts';
import { lockSchedule, overrideOf } from '../store/schedules.ts';

export const addScheduleOverride = operation(oncall.addScheduleOverride, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const schedule = (await lockSchedule(tx, ctx.org, params.id)) ?? notFound('schedule');
    const row = await addOverride(tx, ctx.org, schedule, body, await now(tx));
    const override = overrideOf(row);
    const { userId: user, startsAt, endsAt } = override;
    await audit(tx, ctx, 'oncall.override.create', row, { schedule: schedule.id, user, startsAt, endsAt });
    return created(override, `/oncall/schedules/${schedule.id}/overrides/${override.id}`);
  }),
);
