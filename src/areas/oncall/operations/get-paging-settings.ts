import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { preferencesOf } from '../store/settings.ts';

export const getPagingSettings = operation(oncall.getPagingSettings, async ({ ctx }) =>
  ctx.read(async (tx) => {
    const { addresses, rules } = await preferencesOf(tx, ctx.user.id);
    return ok({ email: ctx.user.email, ...addresses, rules });
  }),
);
