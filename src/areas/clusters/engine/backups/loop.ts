import type { App } from '../../../../kernel/app.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { runFor, systemContext } from '../../../../kernel/fairness/index.ts';
import { clockMoved } from '../../../../kernel/jobs/index.ts';
import { makeInterruptibleSleep } from '../../../../kernel/jobs/interruptible-sleep.ts';
import { intervals } from '../../rules/backups.ts';
import * as store from '../../store/backups.ts';
import type { HeldLease } from '../../store/shards.ts';
import { backupsDue } from '../channels.ts';
import type { RunningCluster, ShardServices } from '../shard/run-cluster.ts';
import { checkBackup } from './check.ts';
import { giveUpLeft, noteFailedBackup, takeBackup } from './take.ts';

const pollIntervalMs = 10_000;

/** A cluster that this server serves. */
export interface ServedHere extends HeldLease {
  running: RunningCluster | undefined;
}

export interface BackupLoop {
  /** Aborts what is under way for a cluster that this server serves no more, and waits for its end. */
  leave(cluster: string): Promise<void>;
  /** Aborts what is under way, and waits for its end. */
  stop(): Promise<void>;
}

/**
 * One backup and one check at a time: they take memory, processor time and the disk from the clusters that are served. A backup waits for no check, and
 * for at most one backup of each other organization.
 */
export function startBackupLoop(services: ShardServices, served: () => Iterable<ServedHere>): BackupLoop {
  const lanes: Lane[] = [];
  const wakeAll = () => {
    for (const lane of lanes) lane.wake();
  };
  const take: Work = async (_due, { held, running, signal }) => {
    await takeBackup(services.app, held, running, signal).catch((error) => {
      if (!signal.aborted) return noteFailedBackup(services.app, running, error);
    });
    wakeAll(); // its check may be due
  };
  const check: Work = ({ backup_id }, { held, running, signal }) => checkBackup(services, held, running, backup_id!, signal);
  lanes.push(startLane(services.app, 'backup', served, take), startLane(services.app, 'check', served, check));
  const endHearing = [backupsDue, clockMoved].map((channel) => services.app.waker.subscribe(channel, wakeAll));
  return {
    async leave(cluster) {
      await Promise.all(lanes.map((lane) => lane.leave(cluster)));
    },
    async stop() {
      for (const end of endHearing) end();
      await Promise.all(lanes.map((lane) => lane.stop()));
    },
  };
}

interface Wanted {
  held: HeldLease;
  running: RunningCluster;
  signal: AbortSignal;
}

type Work = (due: store.DueRow, wanted: Wanted) => Promise<void>;

interface Lane extends BackupLoop {
  wake(): void;
}

interface Current {
  cluster: string;
  abort(): void;
  ended: Promise<void>;
}

/** One piece of work at a time, of the organizations in turn. */
function startLane(app: App, kind: store.BackupWork, served: () => Iterable<ServedHere>, work: Work): Lane {
  const stopping = new AbortController();
  const nudge = makeInterruptibleSleep();
  /** Organizations that had a turn, the latest last. */
  const turns = new Set<string>();
  let current: Current | undefined;

  /** Whether something was done. */
  const workOnce = async (): Promise<boolean> => {
    const due = await findDue(app, kind, [...served()], turns);
    // It may have gone meanwhile.
    const found = due && [...served()].find(({ id }) => id === due.cluster_id);
    if (!found?.running || stopping.signal.aborted) return false;
    turns.delete(due!.org_id);
    turns.add(due!.org_id);
    const own = new AbortController();
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    current = { cluster: found.id, abort: () => own.abort(new Error('this server serves the cluster no more')), ended };
    const signal = AbortSignal.any([stopping.signal, own.signal]);
    await work(due!, { held: { id: found.id, lease: found.lease }, running: found.running, signal }).finally(() => {
      current = undefined;
      resolve();
    });
    return true;
  };
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      const isMore = await runFor({ ...systemContext, operation: 'clusters.backups' }, workOnce, app.watch).catch((error) => {
        if (!isUnavailable(error)) app.log.warn({ err: error }, 'backups of clusters could not be looked after');
        return false;
      });
      if (!isMore && !stopping.signal.aborted) await nudge.sleep(pollIntervalMs);
    }
  })();
  return {
    wake: nudge.wake,
    async leave(cluster) {
      if (current?.cluster !== cluster) return;
      current.abort();
      await current.ended;
    },
    async stop() {
      stopping.abort(new Error('the server stops'));
      nudge.wake();
      await loop;
    },
  };
}

async function findDue(
  app: App,
  work: store.BackupWork,
  all: readonly ServedHere[],
  turns: Set<string>,
): Promise<store.DueRow | undefined> {
  const ids = all.filter(({ running }) => running?.plane.snapshot).map(({ id }) => id);
  if (ids.length === 0) return undefined;
  if (work === 'backup') await giveUpLeft(app, [...new Set(all.map(({ lease }) => lease))]);
  const here = new Set(all.flatMap(({ running }) => (running ? [running.row.org_id] : [])));
  for (const org of turns) if (!here.has(org)) turns.delete(org);
  return app.db.read((tx) => store.nextBackupWork(tx, { work, ids, of: intervals, served: [...turns] }));
}
