import type { Binaries } from '../../../drivers/driver.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { type Catalog, catalogOf } from '../rules/catalog.ts';
import { versionsInUse } from '../store/clusters.ts';
import { versionsOfShards } from '../store/shards.ts';

/** Where a process reads the installed versions from. */
export interface CatalogSources {
  binaries: Binaries;
  /** Whether this process is a shard itself; then it also reads its own folder, which is newer than its row. */
  isShard: boolean;
}

/** The versions an organization can see now: installed on shard servers, embedded, and in use by its clusters. */
export async function readCatalog(tx: Tx, { binaries, isShard }: CatalogSources, org: string): Promise<Catalog> {
  const [ofShards, inUse, own] = await Promise.all([versionsOfShards(tx), versionsInUse(tx, org), isShard ? binaries.list() : []]);
  return catalogOf([...ofShards, ...own.map(({ version }) => version)], inUse);
}
