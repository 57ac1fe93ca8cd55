import type { Tx } from '../../../kernel/db/index.ts';
import { forgetMaintenance } from '../store/maintenance.ts';
import { monitorsOfService } from '../store/monitors.ts';

/**
 * What still needs a service that is about to be deleted. Planned work on it is a property of it and goes with it, in the same
 * transaction; when something else stands in the way, that transaction is undone.
 */
export async function references(tx: Tx, org: string, serviceId: string): Promise<string[]> {
  await forgetMaintenance(tx, org, serviceId);
  return (await monitorsOfService(tx, org, serviceId)).map((m) => `the monitor ${m.name}`);
}
