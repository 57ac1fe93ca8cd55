import type { Ask, ControlPlane } from '../../../drivers/driver.ts';
import type { ClusterRow } from '../store/clusters.ts';

/** Access to the APIs of all clusters, served here or by another process. */
export interface TenantClusters {
  /** Whether the cluster is served here, or another server holds its lease. */
  isReachable(cluster: ClusterRow): boolean;
  /** Runs `work` with the cluster's API. 409 before it has an endpoint; 502 when no shard holds it, or it does not answer in time. */
  with<T>(cluster: ClusterRow, work: (ask: Ask) => Promise<T>, withinMs?: number): Promise<T>;
  /** Registers a plane that this process serves, until `forget`. */
  serve(id: string, plane: ControlPlane): void;
  forget(id: string): void;
  stop(): Promise<void>;
}
