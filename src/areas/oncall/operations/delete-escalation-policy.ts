import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { shareService } from '../../services/index.ts';
import { deletePolicy, lockPolicy, servicesWith } from '../store/policies.ts';

export const deleteEscalationPolicy = operation(oncall.deleteEscalationPolicy, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const policy = (await lockPolicy(tx, ctx.org, params.id)) ?? notFound('policy');
    const users: string[] = [];
    for (const id of await servicesWith(tx, ctx.org, policy.id)) users.push((await shareService(tx, ctx.org, id))?.name ?? id);
    if (users.length) conflict(`the policy ${policy.name} still pages for ${users.join(', ')}; detach it there first`);

    await deletePolicy(tx, ctx.org, policy.id);
    await audit(tx, ctx, 'oncall.policy.delete', policy, { name: policy.name });
    return noContent();
  }),
);
