import { setTimeout as sleep } from 'node:timers/promises';
import { ClusterError } from '../../../../drivers/cluster-error.ts';
import { drivers } from '../../../../drivers/index.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { hint, wake } from '../../../../kernel/jobs/index.ts';
import { phaseAfterFailure, retrySeconds } from '../../rules/phases.ts';
import { type ClusterRow, clusterById } from '../../store/clusters.ts';
import { offerLease, wasTaken } from '../../store/handover.ts';
import * as store from '../../store/shards.ts';
import { ensureAddons } from '../addons/ensure.ts';
import { rollBackAfter, rollBackInterrupted, settleChange } from '../backups/index.ts';
import { addressFree, clustersDue } from '../channels.ts';
import { leave } from './leaving.ts';
import { applyChange, openBalancer, openMesh, type RunningCluster, startCluster, stopCluster } from './run-cluster.ts';
import { dropCluster, type HeldCluster, type Shard } from './state.ts';
import { checkHeartbeats, runUpkeep } from './upkeep.ts';

// What a cluster needs at the moment, one piece of work at a time.

/** How often heartbeats of a cluster's nodes are checked. */
const heartbeatCheckIntervalMs = 10_000;
/** A server that has left closes its mesh and load balancers within this time. */
const leftMs = 5_000;
/** A port that another server closes is free within this time. */
const portMs = 5_000;

/** Starts the work that a cluster needs now; undefined: none. */
export function startDueWork(shard: Shard, held: HeldCluster, mark: store.WorkStateRow | undefined): Promise<void> | undefined {
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
  // A check runs programs of its own.
  await shard.backups.leave(row.id);
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
