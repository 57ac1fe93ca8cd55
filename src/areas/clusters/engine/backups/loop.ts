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
  /** Aborts what is under way, and waits for its end. */
  stop(): Promise<void>;
}

/** One backup or one check at a time: they take memory, processor time and the disk from the clusters that are served. */
export function startBackupLoop(services: ShardServices, served: () => Iterable<ServedHere>): BackupLoop {
  const { app } = services;
  const stopping = new AbortController();
  const nudge = makeInterruptibleSleep();
  const endHearing = [backupsDue, clockMoved].map((channel) => app.waker.subscribe(channel, nudge.wake));
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      const isMore = await runFor(
        { ...systemContext, operation: 'clusters.backups' },
        () => workOnce(services, served, stopping.signal),
        app.watch,
      ).catch((error) => {
        if (!isUnavailable(error)) app.log.warn({ err: error }, 'backups of clusters could not be looked after');
        return false;
      });
      if (!isMore && !stopping.signal.aborted) await nudge.sleep(pollIntervalMs);
    }
  })();
  return {
    async stop() {
      stopping.abort(new Error('the server stops'));
      for (const end of endHearing) end();
      nudge.wake();
      await loop;
    },
  };
}

/** Whether something was done. */
async function workOnce(services: ShardServices, served: () => Iterable<ServedHere>, signal: AbortSignal): Promise<boolean> {
  const { app } = services;
  const byId = new Map([...served()].filter(({ running }) => running?.plane.snapshot).map((each) => [each.id, each]));
  if (byId.size === 0) return false;
  const due = await app.db.read((tx) => store.nextBackupWork(tx, [...byId.keys()], intervals));
  if (!due || signal.aborted) return false;
  const { id, lease, running } = byId.get(due.cluster_id)!;
  const held = { id, lease };
  if (due.what === 'check') await checkBackup(services, held, running!, due.backup_id!, signal);
  else
    await takeBackup(app, held, running!, signal).catch((error) => {
      if (!signal.aborted) return noteFailedBackup(app, running!, error);
    });
  return true;
}
