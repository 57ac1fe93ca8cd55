import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { updatePolicy } from '../engine/policies.ts';
import { lockPolicy } from '../store/policies.ts';
import { labelsFor, policyView } from '../views/policies.ts';

export const updateEscalationPolicy = operation(oncall.updateEscalationPolicy, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const before = (await lockPolicy(tx, ctx.org, params.id)) ?? notFound('policy');
    const policy = Object.keys(body).length ? await updatePolicy(tx, ctx.org, before, body) : before;
    if (policy !== before) await audit(tx, ctx, 'oncall.policy.update', policy, body);
    return ok(policyView(policy, await labelsFor(tx, ctx.org, [policy])));
  }),
);
