import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import type { Ctx } from '../../../identity/context.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findService } from '../engine/find-service.ts';
import { attachPolicy } from '../engine/policies.ts';
import { attachedPolicies } from '../store/policies.ts';

/** Applies to incidents that open later: open incidents have their copy. */
const handle = ({ ctx, params, body }: { ctx: Ctx; params: { id: string }; body: { escalationPolicyId?: string | null } }) =>
  ctx.write(async (tx) => {
    const service = await findService(tx, ctx, params.id);
    const wanted = body.escalationPolicyId;
    const before = (await attachedPolicies(tx, ctx.org, [service.id])).get(service.id);
    const after = wanted === undefined ? before : (wanted ?? undefined);
    if (after !== before) {
      await attachPolicy(tx, ctx.org, service.id, after);
      await audit(tx, ctx, after === undefined ? 'oncall.service.detach' : 'oncall.service.attach', service, {
        escalationPolicyId: after ?? null,
      });
    }
    return ok({ id: service.id, name: service.name, createdAt: service.created_at, ...(after ? { escalationPolicyId: after } : {}) });
  });

export const setServicePolicy = operation(oncall.setServicePolicy, handle);
export const updateOncallService = operation(oncall.updateOncallService, handle);
