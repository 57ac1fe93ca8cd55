import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClusterError } from '../../../../drivers/cluster-error.ts';
import type { Binaries, ClusterLeases, ProgramFigures } from '../../../../drivers/driver.ts';
import { drivers } from '../../../../drivers/index.ts';
import { knownSharedUserReason, readDirectoryId, whyWithoutCgroups } from '../../../../drivers/process/index.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { runFor, systemContext } from '../../../../kernel/fairness/index.ts';
import { clockMoved, hint, wake } from '../../../../kernel/jobs/index.ts';
import { makeInterruptibleSleep } from '../../../../kernel/jobs/interruptible-sleep.ts';
import type { Ending } from '../../../../kernel/lifecycle/ending.ts';
import { phaseAfterFailure, retrySeconds } from '../../rules/phases.ts';
import { type ClusterRow, clusterById } from '../../store/clusters.ts';
import { finishLeaving, handoverProgress, offerLease, offerLeases, wasTaken } from '../../store/handover.ts';
import * as store from '../../store/shards.ts';
import { ensureAddons } from '../addons/ensure.ts';
import { type BackupLoop, rollBackAfter, rollBackInterrupted, settleChange, startBackupLoop } from '../backups/index.ts';
import { addressFree, clustersDue } from '../channels.ts';
import type { MeshFigures } from '../mesh/index.ts';
import { listMeshes, listPrograms } from './figures.ts';
import { leaveLeases, takeLeases } from './handed-over.ts';
import { addInFlight, countInFlight } from './in-flight.ts';
import { type Installed, refreshInstalled } from './installed.ts';
import { endKilledShards, forgetShard, noteShard } from './own-record.ts';
import { type Presence, silentSeconds, startPresence } from './presence.ts';
import { makeRefusedCertificates, type RefusedCertificates } from './refused-certificates.ts';
import {
  applyChange,
  leaveCluster,
  openBalancer,
  openMesh,
  type RunningCluster,
  type ShardServices,
  startCluster,
  stopCluster,
} from './run-cluster.ts';
import { makeSuccession, type Succession } from './succession.ts';
import { checkHeartbeats, runUpkeep } from './upkeep.ts';

/** A lease expires this long after its last renewal. Other servers take a cluster over sooner when its server is gone: see presence.ts. */
export const leaseSeconds = 20;
const renewIntervalMs = 5_000;
/** A stopping server waits this long for others to take its clusters over, as long as one prepares; and this long for one that begins to. */
const passOnMs = 60_000;
const passOnUnansweredMs = 3_000;
/** A server that has left closes its mesh and load balancers within this time. */
const leftMs = 5_000;
/** A port that another server closes is free within this time. */
const portMs = 5_000;
const tickIntervalMs = 1_000;
const sweepIntervalMs = 30_000;
/** How often heartbeats of a cluster's nodes are checked. */
const heartbeatCheckIntervalMs = 10_000;
/** Clusters that one server serves, and how many it changes concurrently. */
const maxHeldClusters = 1_000;
const maxConcurrentWork = 8;
/** Per organization, whose clusters may be slow on purpose. */
const maxConcurrentPerOrg = 3;

/** For drivers, which find out on the machine whose leases are over. Those that this server has taken over stay. */
const leasesBut = (own: ReadonlyMap<string, HeldCluster>): ClusterLeases => ({
  find: store.leasesOf,
  release: (tx, leases) => {
    const taken = new Set([...own.values()].map(({ lease }) => lease));
    return store.releaseClusters(
      tx,
      leases.filter((lease) => !taken.has(lease)),
    );
  },
});

/** A cluster whose lease this server has. */
interface HeldCluster extends store.HeldLease {
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

interface Shard extends ShardServices {
  id: string;
  held: Map<string, HeldCluster>;
  /** Clusters that another server has taken over, while their connections end here. */
  left: Map<string, { running: RunningCluster; work: Promise<void> }>;
  succession: Succession;
  presence: Presence;
  /** It passes its clusters on, and takes no more. */
  isLeaving: boolean;
  refused: RefusedCertificates;
  renewedAt: number;
  sweptAt: number;
  /** Runs beside the ticks: a program that does not exit must not cost a lease. */
  sweeping: Promise<void> | undefined;
  binaries: Binaries;
  /** As in its row. */
  installed: Installed;
  stopped: boolean;
}

export interface RunningShard {
  count(): number;
  /** Programs of the clusters that are served here. */
  programs(): Promise<(ProgramFigures & { cluster: string })[]>;
  /** Meshes of the clusters that are served here. */
  meshes(): (MeshFigures & { cluster: string })[];
  /** Accepts no more connections and changes no more clusters. */
  drain(ending: Ending): Promise<void>;
  /** Hands its clusters over to other servers, as far as these can take them. */
  passOn(): Promise<void>;
  stop(ending: Ending): Promise<void>;
}

/**
 * A shard serves clusters. Each tick it renews leases (every 5 s; they last 20 s), claims clusters that no server holds, prepares those that others
 * offer (succession.ts), sweeps orphans (every 30 s) and starts the work that is due: converge a cluster to its newest generation, meter it, check
 * heartbeats, leave it to the server that took it over, or tear it down. At most 8 clusters are changed concurrently, 3 of one organization. Failed
 * work is retried with a backoff of up to 60 s.
 *
 * After a crash other servers notice (presence.ts), end the leases and claim the clusters; every step of converge and tearDown is safe to run again.
 */
export async function startShard(
  given: Pick<Shard, 'app' | 'tenants' | 'front' | 'balancers' | 'meshHost' | 'binaries' | 'unread' | 'holdOf'>,
): Promise<RunningShard> {
  const { app } = given;
  const refused = makeRefusedCertificates();
  const stopping = new AbortController();
  const isRefused = (cluster: string, fingerprint: string) => refused.has(cluster, fingerprint);
  const nudge = makeInterruptibleSleep();
  const shard = {
    ...given,
    refused,
    isRefused,
    isCurrent: () => shard.presence.isCurrent(),
    installed: { versions: [], hasEtcd: false, directory: await readDirectoryId(app.config.data) },
    stopping: stopping.signal,
    id: randomUUID(),
    held: new Map(takeLeases(app).map((lease) => [lease.id, heldCluster(lease)])),
    left: new Map(),
    isLeaving: false,
    renewedAt: Number.NEGATIVE_INFINITY,
    sweptAt: Number.NEGATIVE_INFINITY,
    sweeping: undefined,
    stopped: false,
  } as unknown as Shard;
  shard.succession = makeSuccession({
    services: shard,
    shard: shard.id,
    leaseSeconds,
    drivers: Object.keys(drivers),
    versions: () => shard.installed.versions,
    loadRefused: (cluster) => refused.load(app, cluster),
    isBusyWith: () => [...shard.held.keys(), ...shard.left.keys()],
    onTaken: ({ running, ...taken }) => {
      shard.held.set(taken.id, { ...heldCluster(taken), org: taken.org, running, takenAt: performance.now() });
      nudge.wake();
    },
  });
  await endKilledShards(app).catch((error) => app.log.warn({ err: error }, 'what a killed server held could not be given back; it lapses'));
  await noteShard(app, shard.id).catch((error) => app.log.warn({ err: error }, 'the note of this server could not be written'));
  await refreshInstalled(shard);
  shard.presence = await startPresence({
    app,
    id: shard.id,
    describe: () => ({
      leaving: shard.isLeaving,
      ...shard.installed,
      withoutCgroups: whyWithoutCgroups(),
      sharing: knownSharedUserReason(),
    }),
    isNeeded: () => shard.held.size > 0,
    checkLeases: async () => giveUpLost(shard, await readMarks(shard)),
    onGone: nudge.wake,
  });
  const endHearing = [clustersDue, clockMoved].map((channel) =>
    app.waker.subscribe(channel, () => {
      if (channel === clockMoved) resetTimers(shard);
      nudge.wake();
    }),
  );
  for (const driver of Object.values(drivers))
    await driver
      .recover(app, leasesBut(shard.held))
      .catch((error) => app.log.warn({ err: error }, 'what a killed server held could not be given back; it lapses'));
  const loop = (async () => {
    while (!shard.stopped) {
      await runFor({ ...systemContext, operation: 'clusters.shard' }, () => tick(shard, nudge.wake), app.watch).catch((error) => {
        if (!isUnavailable(error)) app.log.warn({ err: error }, 'clusters could not be looked after');
      });
      if (!shard.stopped) await nudge.sleep(tickIntervalMs);
    }
  })();
  const backups: BackupLoop = startBackupLoop(shard, () => shard.held.values());
  let endBackups: Promise<void> | undefined;
  return {
    count: () => shard.held.size,
    programs: () => listPrograms(shard.held.values()),
    meshes: () => listMeshes(shard.held.values()),
    passOn: () => passOn(shard),
    async drain({ requestMs }) {
      endBackups = backups.stop();
      shard.stopped = true;
      stopping.abort();
      for (const end of endHearing) end();
      nudge.wake();
      await Promise.all([shard.front.drain(requestMs), shard.balancers.drain(requestMs)]);
    },
    async stop(ending) {
      await (endBackups ?? backups.stop());
      await loop;
      await stopShard(shard, ending);
    },
  };
}

/** After the product's clock was moved, everything that is due by it runs at once. */
function resetTimers(shard: Shard): void {
  shard.renewedAt = Number.NEGATIVE_INFINITY;
  for (const { running } of shard.held.values()) if (running) running.heartbeatsCheckedAt = Number.NEGATIVE_INFINITY;
}

/** One tick: leases, new clusters, changed clusters, refused certificates. */
async function tick(shard: Shard, again: () => void): Promise<void> {
  const { app, held, refused } = shard;
  if (await refreshInstalled(shard)) await shard.presence.beat();
  if (performance.now() - shard.renewedAt >= renewIntervalMs) await renewLeases(shard);
  if (!shard.isLeaving) {
    await claimMore(shard);
    await shard.succession.tick();
  }
  if (performance.now() - shard.sweptAt >= sweepIntervalMs) shard.sweeping ??= sweepLeftovers(shard);
  if (held.size === 0 && shard.left.size === 0) return;
  const running = new Map([...held, ...shard.left].flatMap(([id, { running }]) => (running ? [[id, running] as const] : [])));
  const [markOf] = await Promise.all([readMarks(shard), running.size > 0 ? refused.refresh(app, running) : undefined]);
  giveUpLost(shard, markOf);
  const busy = countInFlight(held.values());
  for (const each of held.values()) {
    if (busy.total >= maxConcurrentWork || shard.stopped) break;
    const mark = markOf.get(each.id);
    each.org = mark?.org_id ?? each.org;
    if (each.work || performance.now() < each.retryAt || (busy.byOrg.get(each.org) ?? 0) >= maxConcurrentPerOrg) continue;
    const work = startDueWork(shard, each, mark);
    if (!work) continue;
    addInFlight(busy, each.org);
    each.work = work.finally(() => {
      each.work = undefined;
      again();
    });
  }
}

/** Under which lease this server held the cluster when the row was read. */
type Mark = store.WorkStateRow & { heldLease: string };

async function readMarks({ app, held, installed }: Shard): Promise<Map<string, Mark>> {
  const leaseOf = new Map([...held.values()].map(({ id, lease }) => [id, lease]));
  const marks = await app.db.read((tx) => store.workStatesOf(tx, [...leaseOf.keys()], { versions: installed.versions, seconds: leaseSeconds }));
  return new Map(marks.map((mark) => [mark.id, { ...mark, heldLease: leaseOf.get(mark.id)! }]));
}

/** For leases that other servers have: by a handover, or because this one was taken for gone. */
function giveUpLost(shard: Shard, markOf: ReadonlyMap<string, Mark>): void {
  for (const held of [...shard.held.values()]) {
    const mark = markOf.get(held.id);
    if (!mark || mark.heldLease !== held.lease || mark.lease === held.lease) continue;
    const work = mark.left_lease === held.lease ? leave(shard, held) : dropCluster(shard, held);
    work.catch((error) => shard.app.log.warn({ err: error, cluster: held.id }, 'a cluster of another server could not be left cleanly'));
  }
}

/** The server that took the cluster over serves it. Connections end here one after the other. */
async function leave(shard: Shard, held: HeldCluster): Promise<void> {
  if (shard.held.get(held.id) !== held) return;
  shard.held.delete(held.id);
  const { running, id } = held;
  held.running = undefined;
  const { app } = shard;
  const finish = () =>
    app.db.write((tx) => {
      wake(tx, clustersDue);
      return finishLeaving(tx, held);
    });
  if (!running) {
    shard.refused.forget(id);
    await finish();
    return;
  }
  app.log.info({ cluster: id }, 'another server took this cluster over; its connections end here');
  const work = leaveCluster(shard, running, () => finish().catch(() => {})) // the other server waits some seconds
    .catch((error) => app.log.warn({ err: error, cluster: id }, 'a cluster that was handed over could not be closed cleanly'))
    .finally(() => {
      shard.left.delete(id);
      if (!shard.held.has(id)) shard.refused.forget(id);
    });
  shard.left.set(id, { running, work });
  await work;
}

/** Offers all clusters to other servers, and serves each until it is taken over. */
async function passOn(shard: Shard): Promise<void> {
  const { app, held } = shard;
  shard.isLeaving = true;
  await shard.succession.stop();
  await shard.presence.beat();
  const leases = () => [...new Set([...held.values()].map(({ lease }) => lease))];
  const offered = await app.db.write(async (tx) => {
    wake(tx, clustersDue);
    return offerLeases(tx, { leases: leases(), shard: shard.id, seconds: silentSeconds });
  });
  if (offered.length > 0) app.log.info({ clusters: offered.length }, 'other servers take the clusters over before this one stops');
  const began = performance.now();
  let answeredAt = began;
  while (offered.some((id) => held.has(id))) {
    const now = performance.now();
    const { offered: open, taken } = await app.db.read((tx) => handoverProgress(tx, leases()));
    if (taken > 0 || open === 0) answeredAt = now;
    if (now - began > passOnMs || now - answeredAt > passOnUnansweredMs) break;
    await sleep(100);
  }
  await Promise.all([...shard.left.values()].map(({ work }) => work));
}

/** Starts the work that a cluster needs now; undefined: none. */
function startDueWork(shard: Shard, held: HeldCluster, mark: store.WorkStateRow | undefined): Promise<void> | undefined {
  if (!mark) return dropCluster(shard, held);
  const { running } = held;
  if (running) openShared(shard, held, running, mark.left_lease);
  if (running && !running.listener) return runWithBackoff(shard, held, () => listenSoon(shard, held, running), recordProblem);
  if (mark.is_for_another) return handOver(shard, held, mark);
  const full = running?.plane.fullness?.();
  const phase = full === undefined ? 'ready' : 'degraded';
  if (full !== undefined && mark.phase === 'ready') return runWithBackoff(shard, held, () => recordFullStore(shard, held, full));
  const isApplied = running && mark.phase === phase && mark.generation === running.row.generation && mark.revision === running.revision;
  const isDone = isApplied && running.plane.problem() === undefined;
  if (!isDone) return runWithBackoff(shard, held, () => converge(shard, held), recordProblem);
  if (mark.is_meter_due) return runWithBackoff(shard, held, () => runUpkeep(shard.app, held, running));
  const isQuiet =
    !running.plane.hasControllers && running.hasNodes && performance.now() - running.heartbeatsCheckedAt > heartbeatCheckIntervalMs;
  return isQuiet ? runWithBackoff(shard, held, () => checkHeartbeats(shard.app, running)) : undefined;
}

/** For a cluster whose version another server has and this one lacks: it is served here until that one is ready. */
function handOver(shard: Shard, held: HeldCluster, mark: store.WorkStateRow): Promise<void> | undefined {
  const { running } = held;
  const { app } = shard;
  if (!running)
    return runWithBackoff(shard, held, async () => {
      await dropCluster(shard, held);
      await app.db.write((tx) => store.releaseCluster(tx, held));
    });
  if (mark.is_meter_due) return runWithBackoff(shard, held, () => runUpkeep(app, held, running));
  if (mark.is_offered) return undefined;
  return runWithBackoff(shard, held, () =>
    app.db.write(async (tx) => {
      wake(tx, clustersDue);
      await offerLease(tx, held);
    }),
  );
}

/** The mesh and the load balancers of a cluster that was taken over: once the server before has closed its own. */
function openShared(shard: Shard, held: HeldCluster, running: RunningCluster, leftLease: string | null): void {
  const { takenAt } = held;
  if (takenAt === undefined || (leftLease !== null && performance.now() - takenAt < leftMs)) return;
  held.takenAt = undefined;
  openMesh(shard, held, running);
  openBalancer(shard, held, running);
}

/** The server that the cluster was taken over from does not share its port, and closes it now. */
async function listenSoon(shard: Shard, held: HeldCluster, running: RunningCluster): Promise<void> {
  const until = performance.now() + portMs;
  for (;;) {
    try {
      const listener = await running.openBeside!();
      if (shard.held.get(held.id) !== held) return listener.close();
      running.listener = listener;
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      if (performance.now() > until || shard.stopped)
        throw new ClusterError(`its port ${running.row.port} is taken by another program of the server`, { cause: error });
    }
    await sleep(20);
  }
}

/** Stops programs of clusters that another server took over, or that were deleted. */
async function sweepLeftovers(shard: Shard): Promise<void> {
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

async function claimMore({ app, id: shard, held, left, succession, installed }: Shard): Promise<void> {
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

const heldCluster = ({ id, lease }: store.HeldLease): HeldCluster => ({
  id,
  lease,
  org: '',
  running: undefined,
  work: undefined,
  failures: 0,
  retryAt: 0,
  takenAt: undefined,
});

/** A lease that was lost is seen in the cluster's row, which the same tick reads. */
async function renewLeases(shard: Shard): Promise<void> {
  const { app, held, id, installed } = shard;
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

async function dropCluster(shard: Shard, held: HeldCluster, ending?: Ending): Promise<void> {
  if (shard.held.get(held.id) !== held) return;
  shard.held.delete(held.id);
  shard.refused.forget(held.id);
  const { running } = held;
  held.running = undefined;
  if (running) await stopCluster(shard, running, ending);
}

type RecordFailure = (shard: Shard, held: HeldCluster, error: unknown) => Promise<void>;

/** Failed work is retried with a backoff. Without `note` a failure is only logged: the cluster keeps serving. */
async function runWithBackoff(shard: Shard, held: HeldCluster, work: () => Promise<void>, note?: RecordFailure): Promise<void> {
  try {
    await work();
    held.failures = 0;
  } catch (error) {
    held.failures++;
    held.retryAt = performance.now() + 1000 * retrySeconds(held.failures);
    if (isUnavailable(error) || shard.stopped) return;
    shard.app.log.warn({ err: error, cluster: held.id, failures: held.failures }, 'a cluster could not be brought to what was asked for');
    await note?.(shard, held, error).catch(() => {}); // the next failure writes it
  }
}

/** Writes the phase and the reason for the tenant to see. */
async function recordProblem({ app }: Shard, held: HeldCluster, error: unknown): Promise<void> {
  const reason = error instanceof ClusterError ? error.message : 'its control plane could not be made ready; the server’s log says why';
  await app.db.write(async (tx) => {
    const row = await clusterById(tx, held.id);
    if (!row) return;
    hint(tx, held.org, 'clusters.cluster');
    await store.recordFailure(tx, held, phaseAfterFailure(row.phase, row.failures + 1), reason);
  });
}

/** The cluster keeps serving, and is ready again once there is room. */
const recordFullStore = (shard: Shard, held: HeldCluster, why: string): Promise<void> => recordDegraded(shard, held, why);

const recordDegraded = ({ app }: Shard, held: HeldCluster, why: string): Promise<void> =>
  app.db.write(async (tx) => {
    hint(tx, held.org, 'clusters.cluster');
    await store.recordFailure(tx, held, 'degraded', why);
  });

/** Brings a cluster to its newest generation. Safe to run again after a crash at any point: every step checks the present state. */
async function converge(shard: Shard, held: HeldCluster): Promise<void> {
  const { app } = shard;
  let row = await app.db.read((tx) => clusterById(tx, held.id));
  if (!row) return dropCluster(shard, held);
  if (row.lease !== held.lease) return (await app.db.read((tx) => wasTaken(tx, held))) ? leave(shard, held) : dropCluster(shard, held);
  if (!held.running && (await rollBackInterrupted(app, held))) row = (await app.db.read((tx) => clusterById(tx, held.id))) ?? row;
  if (row.store === 'etcd' && row.store_directory === null && row.phase !== 'deleting') {
    await app.db.write((tx) => store.keepStoreIn(tx, held, shard.installed.directory));
    row = { ...row, store_directory: shard.installed.directory };
  }
  if (row.phase === 'deleting') return tearDown(shard, held, row);
  if (row.phase === 'pending')
    await app.db.write((tx) => {
      hint(tx, held.org, 'clusters.cluster');
      return store.markProvisioning(tx, held);
    });
  const problem = held.running?.plane.problem();
  if (problem?.isAway && row.phase === 'ready') await recordDegraded(shard, held, problem.why);
  await applyRow(shard, held, row).catch(async (error) => {
    // Without the database it is found `loading` by the next attempt, which begins it anew.
    if (!shard.stopped) await rollBackAfter(app, held, error).catch(() => {});
    throw error;
  });
  if (!held.running) return;
  await ensureAddons({ app, held, ...held.running, ask: held.running.plane.ask });
  if (shard.held.get(held.id) !== held) return;
  const { endpoint } = held.running;
  await app.db.write(async (tx) => {
    hint(tx, held.org, 'clusters.cluster');
    await store.settleReady(tx, held, row.generation, endpoint);
    await settleChange(tx, held);
  });
}

async function applyRow(shard: Shard, held: HeldCluster, row: ClusterRow): Promise<void> {
  if (held.running) return applyChange(shard, held.running, row);
  await shard.refused.load(shard.app, held.id);
  const started = await startCluster(shard, held, row);
  // The lease may have been lost meanwhile.
  if (shard.held.get(held.id) !== held) return stopCluster(shard, started);
  held.running = started;
}

/** Stops the listener and programs first, then deletes all rows in one transaction: a half-deleted cluster is still listed. */
async function tearDown(shard: Shard, held: HeldCluster, row: ClusterRow): Promise<void> {
  const { running } = held;
  held.running = undefined;
  if (running) await stopCluster(shard, running);
  const { app } = shard;
  const driver = drivers[row.driver]!;
  await driver.stopPrograms(app, row.id);
  const gone = await app.db.write(async (tx) => {
    hint(tx, held.org, 'clusters.cluster');
    const removed = await store.removeCluster(tx, held);
    if (removed) {
      await driver.dropObjects(tx, row.id);
      wake(tx, addressFree);
    }
    return removed;
  });
  if (!gone) return;
  await driver.removeFiles(app, row.id);
  await dropCluster(shard, held);
}

/** Gives the leases to the next server of this data directory. Without one it releases them, so that no server waits for their expiry. */
async function stopShard(shard: Shard, ending: Ending): Promise<void> {
  const all = [...shard.held.values()];
  await Promise.all([...all.map(({ work }) => work), shard.sweeping, shard.succession.stop()]);
  const held = all.filter((each) => shard.held.get(each.id) === each).map(({ id, lease }) => ({ id, lease }));
  const leases = ending.isHandOver ? [] : [...new Set(all.map(({ lease }) => lease))];
  await Promise.all([...all.map((each) => dropCluster(shard, each, ending)), ...[...shard.left.values()].map(({ work }) => work)]);
  await shard.front.stop();
  await shard.presence.stop();
  if (ending.isHandOver) leaveLeases(ending, held);
  await shard.app.db
    .write(async (tx) => {
      await store.removeShard(tx, shard.id);
      if (leases.length > 0) await store.releaseClusters(tx, leases);
    })
    .catch((error) => shard.app.log.warn({ err: error }, 'leases of clusters could not be given back; they lapse by themselves'));
  await forgetShard(shard.app, shard.id).catch(() => {}); // the next server finds that this one is gone
}
