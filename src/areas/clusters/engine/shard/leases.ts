import { randomUUID } from 'node:crypto';
import type { ClusterLeases } from '../../../../drivers/driver.ts';
import { drivers } from '../../../../drivers/index.ts';
import * as store from '../../store/shards.ts';
import { type HeldCluster, heldCluster, leaseSeconds, type Shard } from './state.ts';

/** Clusters that one server serves. */
const maxHeldClusters = 1_000;

/** For drivers, which find out on the machine whose leases are over. Those that this server has taken over stay. */
export const leasesBut = (own: ReadonlyMap<string, HeldCluster>): ClusterLeases => ({
  find: store.leasesOf,
  release: (tx, leases) => {
    const taken = new Set([...own.values()].map(({ lease }) => lease));
    return store.releaseClusters(
      tx,
      leases.filter((lease) => !taken.has(lease)),
    );
  },
});

/** Stops programs of clusters that another server took over, or that were deleted. */
export async function sweepLeftovers(shard: Shard): Promise<void> {
  const isHeld = (cluster: string) => shard.held.has(cluster) || shard.left.has(cluster) || shard.succession.ids().includes(cluster);
  for (const driver of Object.values(drivers))
    await driver
      .sweep(shard.app, leasesBut(shard.held), isHeld)
      .catch((error) => shard.app.log.warn({ err: error }, 'leftovers of clusters could not be ended'));
  // Not at once: what a killed server left is taken over with its clusters, whose leases may have to expire first.
  if (shard.sweptAt > 0)
    await shard.meshHost
      .sweep(() => shard.held.keys())
      .catch((error) => shard.app.log.warn({ err: error }, 'leftovers of meshes could not be removed'));
  shard.sweptAt = performance.now();
  shard.sweeping = undefined;
}

export async function claimMore({ app, id: shard, held, left, succession, installed }: Shard): Promise<void> {
  const limit = Math.min(100, maxHeldClusters - held.size);
  if (limit <= 0) return;
  const claimed = await app.db.write((tx) =>
    store.claimClusters(tx, {
      ...installed,
      limit,
      shard,
      lease: randomUUID(),
      leaseSeconds,
      held: [...held.keys(), ...left.keys(), ...succession.ids()],
      drivers: Object.keys(drivers),
    }),
  );
  for (const lease of claimed) held.set(lease.id, heldCluster(lease));
}

/** A lease that was lost is seen in the cluster's row, which the same tick reads. */
export async function renewLeases(shard: Shard): Promise<void> {
  const { app, held, id } = shard;
  const all = [...held.values()];
  if (all.length > 0)
    await app.db.write(async (tx) => {
      await store.renewClusters(
        tx,
        all.map((each) => ({ id: each.id, lease: each.lease, leaseSeconds })),
      );
      // Those that a server before this one left here count by this one's heartbeat.
      await store.stampHolder(tx, id, [...new Set(all.map(({ lease }) => lease))]);
    });
  shard.renewedAt = performance.now();
}
