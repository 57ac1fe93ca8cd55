import type { Tx } from '../../../kernel/db/index.ts';
import { forgetMaintenance } from '../store/maintenance.ts';
import { monitorsOfService } from '../store/monitors.ts';

/**
 * What still refers to a service that is about to be deleted. Its maintenance windows are deleted with it in the same transaction, which is
 * rolled back when another reference is found.
 */
export async function references(tx: Tx, org: string, serviceId: string): Promise<string[]> {
  await forgetMaintenance(tx, org, serviceId);
  return (await monitorsOfService(tx, org, serviceId)).map((m) => `the monitor ${m.name}`);
}
