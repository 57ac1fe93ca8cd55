import type { Tx } from '../../../kernel/db/index.ts';
import type { ServiceRow } from '../../services/index.ts';
import { monitorCounts } from '../store/monitors.ts';

/** Services as uptime shows them: each with its live monitors counted. */
export async function serviceViews(tx: Tx, org: string, services: readonly ServiceRow[]) {
  const ids = services.map((s) => s.id);
  const monitors = await monitorCounts(tx, org, ids);
  return services.map((s) => ({ id: s.id, name: s.name, monitors: monitors.get(s.id) ?? 0, createdAt: s.created_at }));
}

export const serviceView = async (tx: Tx, org: string, service: ServiceRow) => (await serviceViews(tx, org, [service]))[0]!;
