import type { App } from '../../../../kernel/app.ts';
import { removeNode } from '../../clients/tenant/nodes.ts';
import * as store from '../../store/nodes.ts';
import type { RunningCluster } from './run-cluster.ts';

/** Certificates of deregistered nodes, as this server knows them. */
export interface RefusedCertificates {
  has(cluster: string, fingerprint: string): boolean;
  /** What is known of a cluster, before it is served: from its first request on nobody is let in who must not be. */
  load(app: App, cluster: string): Promise<void>;
  /** Looks again for these clusters. Connections that showed one are cut, and what their nodes left is removed. */
  refresh(app: App, running: ReadonlyMap<string, RunningCluster>): Promise<void>;
  forget(cluster: string): void;
}

export function makeRefusedCertificates(): RefusedCertificates {
  const known = new Map<string, Set<string>>();
  return {
    has: (cluster, fingerprint) => known.get(cluster)?.has(fingerprint) ?? false,
    forget: (cluster) => void known.delete(cluster),
    async load(app, cluster) {
      const found = await app.db.read((tx) => store.refusedCertificates(tx, [cluster]));
      known.set(cluster, new Set(found.map(({ fingerprint }) => fingerprint)));
    },
    async refresh(app, running) {
      const found = await app.db.read((tx) => store.refusedCertificates(tx, [...running.keys()]));
      const fresh = found.filter(({ cluster_id, fingerprint }) => !known.get(cluster_id)?.has(fingerprint));
      for (const { cluster_id, fingerprint } of fresh) known.set(cluster_id, (known.get(cluster_id) ?? new Set()).add(fingerprint));
      const cutAt = new Map<string, Set<string>>();
      for (const { cluster_id, fingerprint } of fresh) cutAt.set(cluster_id, (cutAt.get(cluster_id) ?? new Set()).add(fingerprint));
      for (const [cluster, prints] of cutAt) running.get(cluster)?.listener.cut(prints);
      for (const { cluster_id, node, is_back } of fresh) if (!is_back) await removeLeftover(app, running.get(cluster_id), node);
    },
  };
}

/** A node may have shown itself once more between its deregistration and now, from when on it cannot. */
async function removeLeftover(app: App, running: RunningCluster | undefined, node: string): Promise<void> {
  if (!running) return;
  await removeNode(running.plane.ask, node).catch((error) =>
    app.log.warn({ err: error, cluster: running.row.id, node }, 'what a deregistered node left could not be removed'),
  );
}
