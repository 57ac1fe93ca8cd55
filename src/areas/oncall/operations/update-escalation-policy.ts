import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { checkSteps, checkWaits } from '../engine/check-steps.ts';
import { labelsFor } from '../views/policies.ts';
import { lockPolicy, updatePolicy } from '../store/policies.ts';
import { policyView } from '../views/incidents.ts';

export const updateEscalationPolicy = operation(oncall.updateEscalationPolicy, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const before = (await lockPolicy(tx, ctx.org, params.id)) ?? notFound('policy');
    const changed = { name: body.name ?? before.name, repeat: body.repeat ?? before.repeat, steps: body.steps ?? before.steps };
    checkWaits(changed.repeat, changed.steps);
    if (body.steps) await checkSteps(tx, ctx.org, body.steps);
    const policy = Object.keys(body).length ? await updatePolicy(tx, ctx.org, before.id, changed) : before;
    if (policy !== before) await audit(tx, ctx, 'oncall.policy.update', policy, body);
    return ok(policyView(policy, await labelsFor(tx, ctx.org, [policy])));
  }),
);
