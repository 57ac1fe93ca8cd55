import type { App } from '../../../../kernel/app.ts';
import { removeNode } from '../../clients/tenant/nodes.ts';
import * as store from '../../store/nodes.ts';
import type { RunningCluster } from './run-cluster.ts';

/** Certificates of deregistered nodes, cached from the database. */
export interface RefusedCertificates {
  has(cluster: string, fingerprint: string): boolean;
  /** Loads a cluster's refused certificates before it is served, so that even its first request is checked. */
  load(app: App, cluster: string): Promise<void>;
  /** Reloads for these clusters. Connections with a newly refused certificate are closed, and their Node objects are removed. */
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
      for (const [cluster, prints] of cutAt) running.get(cluster)?.listener?.cut(prints);
      for (const { cluster_id, node, is_back } of fresh) if (!is_back) await removeLeftover(app, running.get(cluster_id), node);
    },
  };
}

/** The node may have registered again between its deregistration and this refusal. */
async function removeLeftover(app: App, running: RunningCluster | undefined, node: string): Promise<void> {
  if (!running) return;
  await removeNode(running.plane.ask, node).catch((error) =>
    app.log.warn({ err: error, cluster: running.row.id, node }, 'what a deregistered node left could not be removed'),
  );
}
