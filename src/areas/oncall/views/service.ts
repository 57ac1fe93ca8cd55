import type { Tx } from '../../../kernel/db/index.ts';
import type { ServiceRow } from '../../services/index.ts';
import { attachedPolicies } from '../store/policies.ts';

/** Services as on-call shows them: each with the escalation policy that pages for it. */
export async function serviceViews(tx: Tx, org: string, services: readonly ServiceRow[]) {
  const ids = services.map((s) => s.id);
  const policies = await attachedPolicies(tx, org, ids);
  return services.map((s) => {
    const escalationPolicyId = policies.get(s.id);
    return { id: s.id, name: s.name, createdAt: s.created_at, ...(escalationPolicyId ? { escalationPolicyId } : {}) };
  });
}

export const serviceView = async (tx: Tx, org: string, service: ServiceRow) => (await serviceViews(tx, org, [service]))[0]!;
