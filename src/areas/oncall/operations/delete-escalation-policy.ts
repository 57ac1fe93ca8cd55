import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { deletePolicy } from '../engine/policies.ts';
import { lockPolicy } from '../store/policies.ts';

export const deleteEscalationPolicy = operation(oncall.deleteEscalationPolicy, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const policy = (await lockPolicy(tx, ctx.org, params.id)) ?? notFound('policy');
    await deletePolicy(tx, ctx.org, policy);
    await audit(tx, ctx, 'oncall.policy.delete', policy, { name: policy.name });
    return noContent();
  }),
);
