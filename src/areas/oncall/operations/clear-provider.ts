import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { clearProvider as clear } from '../engine/provider.ts';

export const clearProvider = operation(oncall.clearProvider, async ({ ctx }) =>
  ctx.write(async (tx) => {
    if (await clear(tx, ctx.app, ctx.org)) await audit(tx, ctx, 'oncall.provider.clear', { id: ctx.org });
    return noContent();
  }),
);
