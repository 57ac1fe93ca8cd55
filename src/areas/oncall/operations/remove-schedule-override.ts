import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import * as store from '../store/schedules.ts';

export const removeScheduleOverride = operation(oncall.removeScheduleOverride, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    if (!(await store.lockSchedule(tx, ctx.org, params.id))) notFound('schedule');
    if (!(await store.deleteOverride(tx, ctx.org, params.id, params.oid))) notFound('override');
    await audit(tx, ctx, 'oncall.override.delete', { id: params.oid }, { schedule: params.id });
    return noContent();
  }),
);
