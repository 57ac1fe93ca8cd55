import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { now } from '../../../kernel/time.ts';
import { updateSchedule as update } from '../engine/schedules.ts';
import * as store from '../store/schedules.ts';
import { scheduleView } from '../views/schedules.ts';

export const updateSchedule = operation(oncall.updateSchedule, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const schedule = (await store.lockSchedule(tx, ctx.org, params.id)) ?? notFound('schedule');
    const at = await now(tx);
    const overrides = await store.liveOverrides(tx, ctx.org, schedule.id, at);
    if (!Object.keys(body).length) return ok(scheduleView(schedule, overrides, at));

    const changed = await update(tx, ctx.org, schedule, body, at);
    await audit(tx, ctx, 'oncall.schedule.update', schedule, body);
    return ok(scheduleView(changed, overrides, at));
  }),
);
