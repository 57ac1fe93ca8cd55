import type { Binaries } from '../../../drivers/driver.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { type Catalog, catalogOf } from '../rules/catalog.ts';
import { versionsInUse } from '../store/clusters.ts';
import { canRunEtcd, versionsOfShards } from '../store/shards.ts';

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

/** Whether a shard server with this version can give a cluster an etcd of its own. */
export const isEtcdInstalled = async (tx: Tx, { binaries, isShard }: CatalogSources, version: string): Promise<boolean> =>
  (isShard && (await binaries.etcd()) !== undefined && (await binaries.find(version)) !== undefined) || canRunEtcd(tx, version);
