import type { Binaries } from '../../../../drivers/driver.ts';
import type { Ending } from '../../../../kernel/lifecycle/ending.ts';
import type * as store from '../../store/shards.ts';
import type { BackupLoop } from '../backups/index.ts';
import type { Installed } from './installed.ts';
import type { Presence } from './presence.ts';
import type { RefusedCertificates } from './refused-certificates.ts';
import { type RunningCluster, type ShardServices, stopCluster } from './run-cluster.ts';
import type { Succession } from './succession.ts';

/** A lease expires this long after its last renewal. Other servers take a cluster over sooner when its server is gone: see presence.ts. */
export const leaseSeconds = 20;

/** A cluster whose lease this server has. */
export interface HeldCluster extends store.HeldLease {
  /** Known from the first tick on. */
  org: string;
  running: RunningCluster | undefined;
  work: Promise<void> | undefined;
  failures: number;
  /** By the monotonic clock. */
  retryAt: number;
  /** When it was taken over from a server that may not have closed its mesh and load balancers yet, by the monotonic clock. */
  takenAt: number | undefined;
}

export interface Shard extends ShardServices {
  id: string;
  held: Map<string, HeldCluster>;
  /** Clusters that another server has taken over, while their connections end here. */
  left: Map<string, { running: RunningCluster; work: Promise<void> }>;
  succession: Succession;
  backups: BackupLoop;
  presence: Presence;
  /** It passes its clusters on, and takes no more. */
  isLeaving: boolean;
  refused: RefusedCertificates;
  renewedAt: number;
  accessCheckedAt: number;
  sweptAt: number;
  /** Runs beside the ticks: a program that does not exit must not cost a lease. */
  sweeping: Promise<void> | undefined;
  binaries: Binaries;
  /** As in its row. */
  installed: Installed;
  stopped: boolean;
}

export const heldCluster = ({ id, lease }: store.HeldLease): HeldCluster => ({
  id,
  lease,
  org: '',
  running: undefined,
  work: undefined,
  failures: 0,
  retryAt: 0,
  takenAt: undefined,
});

export async function dropCluster(shard: Shard, held: HeldCluster, ending?: Ending): Promise<void> {
  if (shard.held.get(held.id) !== held) return;
  shard.held.delete(held.id);
  shard.refused.forget(held.id);
  const { running } = held;
  held.running = undefined;
  await shard.backups.leave(held.id);
  if (running) await stopCluster(shard, running, ending);
}
