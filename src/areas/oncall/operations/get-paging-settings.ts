import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { rulesOf } from '../store/settings.ts';

export const getPagingSettings = operation(oncall.getPagingSettings, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ email: ctx.user.email, ...(await rulesOf(tx, ctx.org, ctx.user.id)) })),
);
