import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { createPolicy } from '../engine/policies.ts';
import { labelsFor, policyView } from '../views/policies.ts';

export const createEscalationPolicy = operation(oncall.createEscalationPolicy, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const policy = await createPolicy(tx, ctx.org, body);
    await audit(tx, ctx, 'oncall.policy.create', policy, { name: policy.name, repeat: policy.repeat, steps: policy.steps });
    return created(policyView(policy, await labelsFor(tx, ctx.org, [policy])), `/oncall/escalation-policies/${policy.id}`);
  }),
);
