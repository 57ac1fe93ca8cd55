import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { removeOverride } from '../engine/schedules.ts';

export const removeScheduleOverride = operation(oncall.removeScheduleOverride, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    await removeOverride(tx, ctx.org, params.id, params.oid);
    await audit(tx, ctx, 'oncall.override.delete', { id: params.oid }, { schedule: params.id });
    return noContent();
  }),
);
