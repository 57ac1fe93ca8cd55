import type { Tx } from '../../../kernel/db/index.ts';
import type { Binaries } from '../clients/process/binaries.ts';
import { type Catalog, catalogOf } from '../rules/catalog.ts';
import { versionsInUse } from '../store/clusters.ts';
import { versionsOfShards } from '../store/shards.ts';

/** Where a process learns which versions there are. */
export interface CatalogSources {
  binaries: Binaries;
  /** Whether this process is a shard itself; it then knows what it has before its row says so. */
  isShard: boolean;
}

/** What an organization may ask for now: what servers can run, what this program serves by itself, and what its clusters have. */
export async function readCatalog(tx: Tx, { binaries, isShard }: CatalogSources, org: string): Promise<Catalog> {
  const [ofShards, inUse, own] = await Promise.all([versionsOfShards(tx), versionsInUse(tx, org), isShard ? binaries.list() : []]);
  return catalogOf([...ofShards, ...own.map(({ version }) => version)], inUse);
}
