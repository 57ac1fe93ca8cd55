import { randomUUID } from 'node:crypto';
import { ClusterError } from '../../../../drivers/cluster-error.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { hint, wake } from '../../../../kernel/jobs/index.ts';
import { phaseAfterFailure } from '../../rules/phases.ts';
import { clusterById } from '../../store/clusters.ts';
import * as store from '../../store/handover.ts';
import type { HeldLease } from '../../store/shards.ts';
import { clustersDue } from '../channels.ts';
import { type RunningCluster, type ShardServices, serveCluster, startStandby } from './run-cluster.ts';

// The heir's side of a handover: it opens the control plane while the holder serves, listens at the same port beside it, and takes the lease.

/** The heir's place is kept for it this long after it was last renewed. */
const heirSeconds = 20;
const maxConcurrent = 8;
const maxConcurrentPerOrg = 3;
/** A cluster that could not be prepared is left to other servers for this long. */
const failurePauseMs = 30_000;

interface Heir extends HeldLease {
  org: string;
  work: Promise<void>;
  isOver: boolean;
}

export interface SuccessionParts {
  services: ShardServices;
  /** The server's row. */
  shard: string;
  leaseSeconds: number;
  drivers: readonly string[];
  versions(): readonly string[];
  loadRefused(cluster: string): Promise<void>;
  /** Clusters that this server holds or leaves. */
  isBusyWith(): readonly string[];
  /** The lease is this server's. */
  onTaken(held: HeldLease & { org: string; running: RunningCluster }): void;
}

export interface Succession {
  /** Clusters that are being prepared. */
  ids(): readonly string[];
  /** Takes up offers, and renews what it is the heir of. */
  tick(): Promise<void>;
  /** Gives all of them up. */
  stop(): Promise<void>;
}

export function makeSuccession(parts: SuccessionParts): Succession {
  const { services, shard } = parts;
  const { app } = services;
  const heirs = new Map<string, Heir>();
  const pausedUntil = new Map<string, number>();
  let renewedAt = performance.now();
  let isStopped = false;

  const begin = (id: string, org: string, lease: string) => {
    const heir: Heir = { id, org, lease, isOver: false, work: Promise.resolve() };
    heirs.set(id, heir);
    heir.work = succeed(parts, heir)
      .catch(async (error) => {
        pausedUntil.set(id, performance.now() + failurePauseMs);
        if (isUnavailable(error) || isStopped || heir.isOver) return;
        app.log.warn({ err: error, cluster: id }, 'a cluster of another server could not be prepared here');
        await recordFailure(services, heir, error);
      })
      .catch(() => {}) // the next failure writes it
      .finally(async () => {
        heirs.delete(id);
        await app.db.write((tx) => store.dropHeirs(tx, shard, [id])).catch(() => {}); // it lapses
      });
  };
  return {
    ids: () => [...heirs.keys()],
    async tick() {
      const now = performance.now();
      for (const [id, until] of pausedUntil) if (now >= until) pausedUntil.delete(id);
      if (heirs.size > 0 && now - renewedAt >= (heirSeconds * 1000) / 4) {
        const kept = await app.db.write((tx) => store.renewHeirs(tx, shard, [...heirs.keys()], heirSeconds));
        renewedAt = now;
        for (const heir of heirs.values()) if (!kept.includes(heir.id)) heir.isOver = true;
      }
      const limit = maxConcurrent - heirs.size;
      if (limit <= 0 || isStopped) return;
      const heir = randomUUID();
      const found = await app.db.write((tx) =>
        store.becomeHeir(tx, {
          limit,
          perOrg: maxConcurrentPerOrg,
          shard,
          heir,
          heirSeconds,
          drivers: parts.drivers,
          versions: parts.versions(),
          except: [...parts.isBusyWith(), ...heirs.keys(), ...pausedUntil.keys()],
        }),
      );
      for (const { id, org_id } of found) begin(id, org_id, heir);
    },
    async stop() {
      isStopped = true;
      for (const heir of heirs.values()) heir.isOver = true;
      await Promise.all([...heirs.values()].map(({ work }) => work));
    },
  };
}

async function succeed(parts: SuccessionParts, heir: Heir): Promise<void> {
  const { services, shard, leaseSeconds } = parts;
  const { app } = services;
  const row = await app.db.read((tx) => clusterById(tx, heir.id));
  if (!row || row.phase === 'deleting') return;
  await parts.loadRefused(heir.id);
  const running = await startStandby(services, heir, row);
  await listenBeside(running).catch(async (error) => {
    await running.plane.stop();
    throw error;
  });
  const isTaken =
    !heir.isOver &&
    (await app.db
      .write(async (tx) => {
        const taken = await store.takeOffered(tx, heir, { shard, leaseSeconds, storeGeneration: row.store_generation });
        if (taken) {
          hint(tx, heir.org, 'clusters.cluster');
          wake(tx, clustersDue);
        }
        return taken;
      })
      .catch(async (error) => {
        await abandon(running);
        throw error;
      }));
  if (!isTaken) return abandon(running);
  serveCluster(services, running);
  parts.onTaken({ id: heir.id, lease: heir.lease, org: heir.org, running });
  app.log.info({ cluster: heir.id }, 'a cluster was handed over to this server');
}

async function abandon({ listener, plane }: RunningCluster): Promise<void> {
  await listener?.close();
  await plane.stop();
}

/** Where the holder does not share the port, as one of the release before, the shard opens it once the holder has closed. */
async function listenBeside(running: RunningCluster): Promise<void> {
  try {
    running.listener = await running.openBeside!();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    if (running.row.port === null)
      throw new ClusterError('two servers of one machine cannot share the one port of all clusters; stop the other one first', {
        cause: error,
      });
  }
}

/** For the tenant to see, while a change waits for this server. */
async function recordFailure({ app }: ShardServices, heir: Heir, error: unknown): Promise<void> {
  const reason = error instanceof ClusterError ? error.message : 'its control plane could not be made ready; the server’s log says why';
  await app.db.write(async (tx) => {
    const row = await clusterById(tx, heir.id);
    if (!row) return;
    hint(tx, heir.org, 'clusters.cluster');
    await store.recordHeirFailure(tx, heir, phaseAfterFailure(row.phase, row.failures + 1), reason);
  });
}
