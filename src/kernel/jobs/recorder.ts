import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailable, type Db } from '../db/index.ts';
import type { Logger } from '../log.ts';
import type { Verdict } from './lease.ts';
import type { LeasedJob } from './leased-jobs.ts';
import type { Outcome } from './outcome.ts';
import { finishJobs, returnJobs } from './store.ts';

export interface Recorder {
  /** Settles once it is recorded; `lost`: the lease was lost, and nothing was changed. */
  record(leased: LeasedJob, outcome: Outcome): Promise<Recorded>;
  /** Drops outcomes that the database has not taken: those leases lapse by themselves. */
  stop(): void;
}

export type Recorded = Exclude<Verdict, 'busy'>;

interface Entry<O> {
  leased: LeasedJob;
  outcome: O;
  resolve: (recorded: Recorded) => void;
}

type Settled = Extract<Outcome, { is: 'done' }>;
type Unfinished = Exclude<Outcome, Settled>;

const maxBatch = 500;
const lockedRetryMs = 25;
const unavailableRetryMs = 250;

export function makeRecorder({ db, log }: { db: Db; log: Logger }): Recorder {
  const underLease = <O>({ leased: { job }, outcome }: Entry<O>) => ({ id: job.id, lease: job.lease, outcome });
  const finished = makeBatches<Settled>((entries) => db.read((tx) => finishJobs(tx, entries.map(underLease))), log);
  const unfinished = makeBatches<Unfinished>((entries) => db.read((tx) => returnJobs(tx, entries.map(underLease))), log);
  return {
    record: (leased, outcome) => (outcome.is === 'done' ? finished.add(leased, outcome) : unfinished.add(leased, outcome)),
    stop: () => {
      finished.stop();
      unfinished.stop();
    },
  };
}

/** While one statement is in flight, the outcomes for the next one collect. */
function makeBatches<O>(write: (entries: Entry<O>[]) => Promise<Verdict[]>, log: Logger) {
  const waiting: Entry<O>[] = [];
  let isWorking = false;
  let isStopped = false;
  let singles = 0; // this many are written one by one: one of them was refused, and must not block the others

  const writeBatch = async () => {
    const entries = waiting.splice(0, singles > 0 ? 1 : maxBatch);
    singles = Math.max(0, singles - 1);
    try {
      const verdicts = await write(entries);
      let busy = 0;
      for (const [i, entry] of entries.entries()) {
        const verdict = verdicts[i]!;
        if (verdict !== 'busy') entry.resolve(verdict);
        else {
          waiting.push(entry);
          busy++;
        }
      }
      if (busy === entries.length) await sleep(lockedRetryMs);
    } catch (error) {
      if (error instanceof DatabaseUnavailable) {
        waiting.unshift(...entries);
        await sleep(unavailableRetryMs);
      } else if (entries.length > 1) {
        waiting.unshift(...entries);
        singles = entries.length;
      } else {
        const { id, kind } = entries[0]!.leased.job;
        log.error({ err: error, job: id, kind }, 'the outcome of a job cannot be recorded; it runs again when its lease lapses');
        entries[0]!.resolve('lost');
      }
    }
  };

  const work = async () => {
    while (waiting.length > 0 && !isStopped) await writeBatch();
    isWorking = false;
    if (isStopped) for (const { resolve } of waiting.splice(0)) resolve('lost');
  };

  return {
    add: (leased: LeasedJob, outcome: O) =>
      new Promise<Recorded>((resolve) => {
        if (isStopped) return resolve('lost');
        waiting.push({ leased, outcome, resolve });
        if (isWorking) return;
        isWorking = true;
        // Handlers that end in the same turn of the event loop share the first statement too.
        setImmediate(() => void work());
      }),
    stop: () => {
      isStopped = true;
      if (!isWorking) void work();
    },
  };
}
