import { account } from '../../../../contract/account.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { changePolicy, policyTopics, securityOf } from '../engine/security.ts';
import { securityView } from '../views/security.ts';

export const updateSecurity = operation(account.updateSecurity, async ({ ctx, body: { requiresSecondFactor } }) =>
  ctx.write(
    async (tx) => {
      if (requiresSecondFactor !== undefined) await changePolicy(tx, ctx, requiresSecondFactor);
      return ok(securityView(await securityOf(tx, ctx.org)));
    },
    { revokes: requiresSecondFactor === undefined ? [] : policyTopics(ctx.org) },
  ),
);
