import type { Binaries, ControlPlane, UnreadLimiter } from '../../../drivers/driver.ts';
import { storeFullPrefix } from '../../../drivers/embedded/index.ts';
import { drivers } from '../../../drivers/index.ts';
import type { App } from '../../../kernel/app.ts';
import { conflict, unreachable } from '../../../kernel/errors.ts';
import { TenantApiError } from '../clients/tenant/ask.ts';
import { refuseEndpoint } from '../rules/phases.ts';
import type { ClusterRow } from '../store/clusters.ts';
import { findPki } from './pki.ts';
import { planeOptionsOf } from './plane-options.ts';
import type { TenantClusters } from './types.ts';

/** Timeouts for calls to a cluster's API while a caller waits: one request, and all requests of one operation. */
const requestTimeoutMs = 2_000;
const totalTimeoutMs = 10_000;
/** Clients that are kept open to clusters served elsewhere. */
const maxOpenedPlanes = 50;

interface OpenedPlane {
  plane: ControlPlane;
  revision: number;
  cluster: ClusterRow;
}

export function makeTenantClusters(app: App, binaries: Binaries, unread: UnreadLimiter): TenantClusters {
  const served = new Map<string, ControlPlane>();
  const opened = new Map<string, OpenedPlane>();

  /** Evicts the oldest client above the limit: a Map keeps insertion order. */
  const openToAsk = async (cluster: ClusterRow): Promise<ControlPlane> => {
    const pki = await app.db.read((tx) => findPki(tx, app, cluster.id));
    if (!pki) return unreachable(`the keys of cluster ${cluster.name} are not there yet; try again in a moment`);
    const known = opened.get(cluster.id);
    if (known?.revision === pki.revision) {
      known.cluster = cluster;
      return known.plane;
    }
    // No await until the entry is in the map: of two concurrent callers the second finds it.
    const entry = { revision: pki.revision, cluster } as OpenedPlane;
    const given = { cluster: () => entry.cluster, pki, endpoint: cluster.endpoint!, isRefused: () => false, binaries, unread };
    entry.plane = drivers[cluster.driver]!.openClient(app, planeOptionsOf(app, given));
    opened.delete(cluster.id);
    opened.set(cluster.id, entry);
    const [oldest] = opened.size > maxOpenedPlanes ? opened : [];
    if (oldest) opened.delete(oldest[0]);
    await Promise.all([known?.plane.stop(), oldest?.[1].plane.stop()]);
    return entry.plane;
  };

  const isAnswering = (cluster: ClusterRow) => served.has(cluster.id) || cluster.is_held;

  return {
    isReachable: isAnswering,
    async with(cluster, work, withinMs = totalTimeoutMs) {
      const why = refuseEndpoint(cluster.name, cluster.phase, cluster.endpoint);
      if (why) return conflict(why);
      if (!isAnswering(cluster)) return refuseUnreachable(cluster);
      const deadline = performance.now() + withinMs;
      const plane = served.get(cluster.id) ?? (await openToAsk(cluster));
      try {
        return await work(async (method, path, body) => {
          const leftMs = deadline - performance.now();
          if (leftMs <= 0) return refuseUnreachable(cluster);
          return withTimeout(cluster, plane.ask(method, path, body), Math.min(requestTimeoutMs, leftMs));
        });
      } catch (error) {
        if (error instanceof TenantApiError && error.status === 403 && error.apiMessage.startsWith(storeFullPrefix))
          return conflict(`cluster ${cluster.name}: ${error.apiMessage}`);
        if (error instanceof TenantApiError)
          return unreachable(`the control plane of cluster ${cluster.name} did not do what was asked; try again in a moment`, {
            cause: error,
          });
        throw error;
      }
    },
    serve: (id, plane) => void served.set(id, plane),
    forget: (id) => void served.delete(id),
    async stop() {
      for (const { plane } of opened.values()) await plane.stop();
      opened.clear();
    },
  };
}

async function withTimeout<T>(cluster: ClusterRow, asked: Promise<T>, withinMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), withinMs);
  });
  const answered = await Promise.race([asked, late]).finally(() => clearTimeout(timer));
  return answered === 'late' ? refuseUnreachable(cluster) : answered;
}

export const refuseUnreachable = ({
  name,
  version,
  driver,
  store_directory,
}: Pick<ClusterRow, 'name' | 'version' | 'driver' | 'store_directory'>): never =>
  unreachable(
    store_directory === null
      ? `the shard that runs cluster ${name} does not answer; another one takes it over within a minute if there is one${driver === 'process' ? ` with ${version} installed` : ''}`
      : `the server that has the datastore of cluster ${name} does not answer; the cluster is back with that server, or once the operator restores a backup on another one`,
  );
