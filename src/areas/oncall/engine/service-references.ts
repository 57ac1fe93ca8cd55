import type { Tx } from '../../../kernel/db/index.ts';
import { renamePublic, renameUnresolved, unresolvedOf } from '../store/incidents.ts';
import { detachPolicy } from '../store/policies.ts';
import { liveSourcesOf } from '../store/sources.ts';

/**
 * What still needs a service that is about to be deleted. Its escalation policy is a property of it and goes with it, in the same
 * transaction; when something else stands in the way, that transaction is undone.
 */
export async function serviceReferences(tx: Tx, org: string, serviceId: string): Promise<string[]> {
  await detachPolicy(tx, org, serviceId);
  const sources = await liveSourcesOf(tx, org, serviceId);
  const incidents = await unresolvedOf(tx, org, serviceId);
  return [...sources.map((s) => `the alert source ${s.name}`), ...incidents.map((i) => `the incident “${i.title}”, which is not resolved`)];
}

/** What goes on is told under the service's new name, also in pages to come; what is over keeps the one it had. */
export const serviceRenamed = (tx: Tx, org: string, service: { id: string; name: string }) =>
  renameUnresolved(tx, org, service.id, service.name);

/** Of a service that is deleted the public history stays, under the name that it had last. */
export const serviceDeleted = (tx: Tx, org: string, service: { id: string; name: string }) =>
  renamePublic(tx, org, service.id, service.name);
