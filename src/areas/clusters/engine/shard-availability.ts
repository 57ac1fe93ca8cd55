import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, unreachable } from '../../../kernel/errors.ts';
import { refuseEndpoint } from '../rules/phases.ts';
import type { ClusterRow } from '../store/clusters.ts';
import { isShardThere } from '../store/shards.ts';
import { leaseSeconds } from './shard/state.ts';
import type { TenantClusters } from './types.ts';

export interface ShardAvailability {
  tenants: TenantClusters;
  /** Whether this process is a shard itself. */
  isShard: boolean;
}

/** A pending or deleting cluster is shown as it is, whether or not a shard holds it. */
export const isServed = ({ tenants }: ShardAvailability, cluster: ClusterRow): boolean =>
  cluster.phase === 'pending' || cluster.phase === 'deleting' || tenants.isReachable(cluster);

/** The list is refused only when no shard answers at all. */
export async function requireShard(tx: Tx, own: ShardAvailability, found: readonly ClusterRow[]): Promise<void> {
  if (own.isShard || found.every((cluster) => isServed(own, cluster))) return;
  if (!(await isShardThere(tx, leaseSeconds)))
    unreachable('no shard answers: the operator starts a server with the role shard; the clusters are kept');
}

export function requireEndpoint({ name, phase, endpoint }: ClusterRow): void {
  const why = refuseEndpoint(name, phase, endpoint);
  if (why) conflict(why);
}
