import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import * as store from '../store/schedules.ts';

export const deleteSchedule = operation(oncall.deleteSchedule, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const schedule = (await store.lockSchedule(tx, ctx.org, params.id)) ?? notFound('schedule');
    const policies = await store.policiesTargeting(tx, ctx.org, schedule.id);
    if (policies.length)
      conflict(`the schedule ${schedule.name} is still a target of ${policies.map((p) => p.name).join(', ')}; change those policies first`);

    await store.deleteSchedule(tx, ctx.org, schedule.id);
    await audit(tx, ctx, 'oncall.schedule.delete', schedule, { name: schedule.name });
    return noContent();
  }),
);
