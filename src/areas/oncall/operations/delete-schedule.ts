import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { deleteSchedule as remove } from '../engine/schedules.ts';
import { lockSchedule } from '../store/schedules.ts';

export const deleteSchedule = operation(oncall.deleteSchedule, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const schedule = (await lockSchedule(tx, ctx.org, params.id)) ?? notFound('schedule');
    await remove(tx, ctx.org, schedule);
    await audit(tx, ctx, 'oncall.schedule.delete', schedule, { name: schedule.name });
    return noContent();
  }),
);
