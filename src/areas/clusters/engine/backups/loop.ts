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
import { noteFailedBackup, takeBackup } from './take.ts';

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

interface Current {
  cluster: string;
  abort(): void;
  ended: Promise<void>;
}

/** One backup or one check at a time: they take memory, processor time and the disk from the clusters that are served. */
export function startBackupLoop(services: ShardServices, served: () => Iterable<ServedHere>): BackupLoop {
  const { app } = services;
  const stopping = new AbortController();
  const nudge = makeInterruptibleSleep();
  let current: Current | undefined;
  const work = async (due: store.DueRow, held: HeldLease, running: RunningCluster) => {
    const own = new AbortController();
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    current = { cluster: held.id, abort: () => own.abort(new Error('this server serves the cluster no more')), ended };
    const signal = AbortSignal.any([stopping.signal, own.signal]);
    await workOn(services, due, { held, running, signal }).finally(() => {
      current = undefined;
      resolve();
    });
  };
  const endHearing = [backupsDue, clockMoved].map((channel) => app.waker.subscribe(channel, nudge.wake));
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      const isMore = await runFor(
        { ...systemContext, operation: 'clusters.backups' },
        () => workOnce(app, served, stopping.signal, work),
        app.watch,
      ).catch((error) => {
        if (!isUnavailable(error)) app.log.warn({ err: error }, 'backups of clusters could not be looked after');
        return false;
      });
      if (!isMore && !stopping.signal.aborted) await nudge.sleep(pollIntervalMs);
    }
  })();
  return {
    async leave(cluster) {
      if (current?.cluster !== cluster) return;
      current.abort();
      await current.ended;
    },
    async stop() {
      stopping.abort(new Error('the server stops'));
      for (const end of endHearing) end();
      nudge.wake();
      await loop;
    },
  };
}

type Work = (due: store.DueRow, held: HeldLease, running: RunningCluster) => Promise<void>;

/** Whether something was done. */
async function workOnce(app: App, served: () => Iterable<ServedHere>, stopping: AbortSignal, work: Work): Promise<boolean> {
  const candidates = [...served()].filter(({ running }) => running?.plane.snapshot).map(({ id }) => id);
  if (candidates.length === 0) return false;
  const due = await app.db.read((tx) => store.nextBackupWork(tx, candidates, intervals));
  // It may have gone meanwhile.
  const found = due && [...served()].find(({ id }) => id === due.cluster_id);
  if (!due || !found?.running || stopping.aborted) return false;
  await work(due, { id: found.id, lease: found.lease }, found.running);
  return true;
}

interface Wanted {
  held: HeldLease;
  running: RunningCluster;
  signal: AbortSignal;
}

async function workOn(services: ShardServices, due: store.DueRow, { held, running, signal }: Wanted): Promise<void> {
  const { app } = services;
  if (due.what === 'check') return checkBackup(services, held, running, due.backup_id!, signal);
  await takeBackup(app, held, running, signal).catch((error) => {
    if (!signal.aborted) return noteFailedBackup(app, running, error);
  });
}
