import type { Tx } from '../../kernel/db.ts';

export type RegistryEvent = {
  org: string;
  registryId: string;
  slug: string;
  repository: string;
  digest: string;
  by: string;
} & ({ kind: 'push'; mediaType: string; tags: string[] } | { kind: 'delete'; tag?: string });

/** Called inside the transaction of the push or delete: insert a job there, and it happens if and only if the change does. */
export type RegistryListener = (tx: Tx, event: RegistryEvent) => Promise<void>;

/** The registry's port for other areas. Nobody listens by default. */
export const listeners: RegistryListener[] = [];

export async function tell(tx: Tx, event: RegistryEvent) {
  for (const listen of listeners) await listen(tx, event);
}
