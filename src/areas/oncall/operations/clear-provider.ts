import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { accountsTopic } from '../engine/provider.ts';
import { clearProvider as clear } from '../store/provider.ts';

export const clearProvider = operation(oncall.clearProvider, async ({ ctx }) =>
  ctx.write(async (tx) => {
    await ctx.app.caches.drop(tx, accountsTopic);
    if (await clear(tx, ctx.org)) await audit(tx, ctx, 'oncall.provider.clear', { id: ctx.org });
    return noContent();
  }),
);
