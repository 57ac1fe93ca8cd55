import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { policies } from '../store/policies.ts';
import { labelsFor, policyView } from '../views/policies.ts';

export const listEscalationPolicies = operation(oncall.listEscalationPolicies, async ({ ctx }) =>
  ctx.read(async (tx) => {
    const found = await policies(tx, ctx.org);
    const labels = await labelsFor(tx, ctx.org, found);
    return ok({ policies: found.map((p) => policyView(p, labels)) });
  }),
);
