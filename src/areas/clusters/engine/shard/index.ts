import { randomUUID } from 'node:crypto';
import type { ProgramFigures } from '../../../../drivers/driver.ts';
import { drivers } from '../../../../drivers/index.ts';
import { knownSharedUserReason, readDirectoryId, whyWithoutCgroups } from '../../../../drivers/process/index.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { runFor, systemContext } from '../../../../kernel/fairness/index.ts';
import { clockMoved } from '../../../../kernel/jobs/index.ts';
import { makeInterruptibleSleep } from '../../../../kernel/jobs/interruptible-sleep.ts';
import type { Ending } from '../../../../kernel/lifecycle/ending.ts';
import * as store from '../../store/shards.ts';
import { startBackupLoop } from '../backups/index.ts';
import { clustersDue } from '../channels.ts';
import type { MeshFigures } from '../mesh/index.ts';
import { listMeshes, listPrograms } from './figures.ts';
import { leaveLeases, takeLeases } from './handed-over.ts';
import { addInFlight, countInFlight } from './in-flight.ts';
import { refreshInstalled } from './installed.ts';
import { claimMore, leasesBut, renewLeases, sweepLeftovers } from './leases.ts';
import { giveUpLost, passOn, readMarks } from './leaving.ts';
import { cutLostAccess } from './lost-access.ts';
import { endKilledShards, forgetShard, noteShard } from './own-record.ts';
import { type Presence, startPresence } from './presence.ts';
import { makeRefusedCertificates } from './refused-certificates.ts';
import type { RunningCluster } from './run-cluster.ts';
import { dropCluster, heldCluster, leaseSeconds, type Shard } from './state.ts';
import { makeSuccession } from './succession.ts';
import { startDueWork } from './work.ts';

const renewIntervalMs = 5_000;
const accessIntervalMs = 5_000;
const tickIntervalMs = 1_000;
const sweepIntervalMs = 30_000;
/** Clusters that are changed concurrently. */
const maxConcurrentWork = 8;
/** Per organization, whose clusters may be slow on purpose. */
const maxConcurrentPerOrg = 3;

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
export async function startShard(given: GivenServices): Promise<RunningShard> {
  const { app } = given;
  const stopping = new AbortController();
  const nudge = makeInterruptibleSleep();
  const shard = makeShard(given, await readDirectoryId(app.config.data), stopping.signal, nudge.wake);
  await endKilledShards(app).catch((error) => app.log.warn({ err: error }, 'what a killed server held could not be given back; it lapses'));
  await noteShard(app, shard.id).catch((error) => app.log.warn({ err: error }, 'the note of this server could not be written'));
  await refreshInstalled(shard);
  shard.presence = await openPresence(shard, nudge.wake);
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
  let endBackups: Promise<void> | undefined;
  return {
    count: () => shard.held.size,
    programs: () => listPrograms(shard.held.values()),
    meshes: () => listMeshes(shard.held.values()),
    passOn: () => passOn(shard),
    async drain({ requestMs }) {
      shard.stopped = true;
      stopping.abort();
      endBackups = shard.backups.stop();
      for (const end of endHearing) end();
      nudge.wake();
      await Promise.all([shard.front.drain(requestMs), shard.balancers.drain(requestMs)]);
    },
    async stop(ending) {
      await (endBackups ?? shard.backups.stop());
      await loop;
      await stopShard(shard, ending);
    },
  };
}

type GivenServices = Pick<Shard, 'app' | 'tenants' | 'front' | 'balancers' | 'meshHost' | 'binaries' | 'unread' | 'holdOf'>;

/** Its presence follows. */
function makeShard(given: GivenServices, directory: string, stopping: AbortSignal, wakeUp: () => void): Shard {
  const { app } = given;
  const refused = makeRefusedCertificates();
  const shard = {
    ...given,
    refused,
    isRefused: (cluster, fingerprint) => refused.has(cluster, fingerprint),
    isCurrent: () => shard.presence.isCurrent(),
    installed: { versions: [], hasEtcd: false, directory },
    stopping,
    id: randomUUID(),
    held: new Map(takeLeases(app).map((lease) => [lease.id, heldCluster(lease)])),
    left: new Map(),
    isLeaving: false,
    renewedAt: Number.NEGATIVE_INFINITY,
    accessCheckedAt: Number.NEGATIVE_INFINITY,
    sweptAt: Number.NEGATIVE_INFINITY,
    sweeping: undefined,
    stopped: false,
  } as Omit<Shard, 'presence' | 'succession' | 'backups'> as Shard;
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
      wakeUp();
    },
  });
  shard.backups = startBackupLoop(shard, () => shard.held.values());
  return shard;
}

const openPresence = (shard: Shard, wakeUp: () => void): Promise<Presence> =>
  startPresence({
    app: shard.app,
    id: shard.id,
    describe: () => ({
      leaving: shard.isLeaving,
      ...shard.installed,
      withoutCgroups: whyWithoutCgroups(),
      sharing: knownSharedUserReason(),
    }),
    isNeeded: () => shard.held.size > 0,
    checkLeases: async () => giveUpLost(shard, await readMarks(shard)),
    onGone: wakeUp,
  });

/** After the product's clock was moved, everything that is due by it runs at once. */
function resetTimers(shard: Shard): void {
  shard.renewedAt = Number.NEGATIVE_INFINITY;
  shard.accessCheckedAt = Number.NEGATIVE_INFINITY;
  for (const { running } of shard.held.values()) if (running) running.heartbeatsCheckedAt = Number.NEGATIVE_INFINITY;
}

/** One tick: leases, new clusters, changed clusters, refused certificates, lost access. */
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
  const [markOf] = await Promise.all([
    readMarks(shard),
    running.size > 0 ? refused.refresh(app, running) : undefined,
    performance.now() - shard.accessCheckedAt >= accessIntervalMs ? checkAccess(shard, running) : undefined,
  ]);
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

async function checkAccess(shard: Shard, running: ReadonlyMap<string, RunningCluster>): Promise<void> {
  shard.accessCheckedAt = performance.now();
  await cutLostAccess(shard.app, running).catch((error) => {
    if (!isUnavailable(error)) shard.app.log.warn({ err: error }, 'connections of people without access could not be looked for');
  });
}

/** Gives the leases to the next server of this data directory. Without one it releases them, so that no server waits for their expiry. */
async function stopShard(shard: Shard, ending: Ending): Promise<void> {
  const all = [...shard.held.values()];
  let held: store.HeldLease[];
  try {
    await Promise.all([...all.map(({ work }) => work), shard.sweeping, shard.succession.stop()]);
    held = all.filter((each) => shard.held.get(each.id) === each).map(({ id, lease }) => ({ id, lease }));
    await Promise.all([...all.map((each) => dropCluster(shard, each, ending)), ...[...shard.left.values()].map(({ work }) => work)]);
    await shard.front.stop();
  } finally {
    await shard.presence.stop(); // whatever else fails: others would take this server for one that is there
  }
  if (ending.isHandOver) leaveLeases(ending, held);
  const leases = ending.isHandOver ? [] : [...new Set(all.map(({ lease }) => lease))];
  await shard.app.db
    .write(async (tx) => {
      await store.removeShard(tx, shard.id);
      if (leases.length > 0) await store.releaseClusters(tx, leases);
    })
    .catch((error) => shard.app.log.warn({ err: error }, 'leases of clusters could not be given back; they lapse by themselves'));
  await forgetShard(shard.app, shard.id).catch(() => {}); // the next server finds that this one is gone
}
