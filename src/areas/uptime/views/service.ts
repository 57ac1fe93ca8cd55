import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db.ts';
import type { ServiceRow } from '../../services/store/services.ts';

const ids = (found: ServiceRow[]) => found.map((s) => s.id);

/** A service as uptime shows it: with its live monitors counted. */
export async function uptimeViews(tx: Tx, app: App, org: string, found: ServiceRow[]) {
  const monitors = await app.ports.monitorsOf(tx, org, ids(found));
  return found.map((s) => ({ id: s.id, name: s.name, monitors: monitors.get(s.id) ?? 0, createdAt: s.created_at }));
}

/** A service as on-call shows it: with the policy that pages for it. */
export async function oncallViews(tx: Tx, app: App, org: string, found: ServiceRow[]) {
  const policies = await app.ports.policiesOf(tx, org, ids(found));
  return found.map((s) => {
    const escalationPolicyId = policies.get(s.id);
    return { id: s.id, name: s.name, createdAt: s.created_at, ...(escalationPolicyId ? { escalationPolicyId } : {}) };
  });
}
