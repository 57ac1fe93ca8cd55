import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailable, type Db } from '../db/index.ts';
import type { Logger } from '../log.ts';
import type { Verdict } from './lease.ts';
import type { LeasedJob } from './leased-jobs.ts';
import type { Outcome } from './outcome.ts';
import { finishJobs, putBackJobs } from './store.ts';

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

const most = 500;
const busyRetryMs = 25;
const awayRetryMs = 250;

export function makeRecorder({ db, log }: { db: Db; log: Logger }): Recorder {
  const underLease = <O>({ leased: { job }, outcome }: Entry<O>) => ({ id: job.id, lease: job.lease, outcome });
  const finished = makeBatches<Settled>((entries) => db.read((tx) => finishJobs(tx, entries.map(underLease))), log);
  const unfinished = makeBatches<Unfinished>((entries) => db.read((tx) => putBackJobs(tx, entries.map(underLease))), log);
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
  let working = false;
  let stopped = false;
  let alone = 0; // this many are written one by one: one of them was refused, and must not block the others

  const step = async () => {
    const entries = waiting.splice(0, alone > 0 ? 1 : most);
    alone = Math.max(0, alone - 1);
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
      if (busy === entries.length) await sleep(busyRetryMs);
    } catch (error) {
      if (error instanceof DatabaseUnavailable) {
        waiting.unshift(...entries);
        await sleep(awayRetryMs);
      } else if (entries.length > 1) {
        waiting.unshift(...entries);
        alone = entries.length;
      } else {
        const { id, kind } = entries[0]!.leased.job;
        log.error({ err: error, job: id, kind }, 'the outcome of a job cannot be recorded; it runs again when its lease lapses');
        entries[0]!.resolve('lost');
      }
    }
  };

  const work = async () => {
    while (waiting.length > 0 && !stopped) await step();
    working = false;
    if (stopped) for (const { resolve } of waiting.splice(0)) resolve('lost');
  };

  return {
    add: (leased: LeasedJob, outcome: O) =>
      new Promise<Recorded>((resolve) => {
        if (stopped) return resolve('lost');
        waiting.push({ leased, outcome, resolve });
        if (working) return;
        working = true;
        // Handlers that end in the same turn of the event loop share the first statement too.
        setImmediate(() => void work());
      }),
    stop: () => {
      stopped = true;
      if (!working) void work();
    },
  };
}
