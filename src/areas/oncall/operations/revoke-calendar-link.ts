import { oncall } from '../../../../contract/oncall.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { revokeCalendarLink as revoke } from '../engine/calendar/links.ts';

export const revokeCalendarLink = operation(oncall.revokeCalendarLink, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    await revoke(tx, ctx, params.id, params.linkId);
    return noContent();
  }),
);
