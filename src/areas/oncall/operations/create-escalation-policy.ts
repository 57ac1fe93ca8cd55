import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { checkSteps, checkWaits } from '../engine/check-steps.ts';
import { labelsFor } from '../views/policies.ts';
import { insertPolicy } from '../store/policies.ts';
import { policyView } from '../views/incidents.ts';

export const createEscalationPolicy = operation(oncall.createEscalationPolicy, async ({ ctx, body }) => {
  checkWaits(body.repeat, body.steps);
  return ctx.write(async (tx) => {
    await checkSteps(tx, ctx.org, body.steps);
    const policy = await insertPolicy(tx, ctx.org, body);
    await audit(tx, ctx, 'oncall.policy.create', policy, { name: policy.name, repeat: policy.repeat, steps: policy.steps });
    return created(policyView(policy, await labelsFor(tx, ctx.org, [policy])), `/oncall/escalation-policies/${policy.id}`);
  });
});
