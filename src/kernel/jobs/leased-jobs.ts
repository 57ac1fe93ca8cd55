import type { Db } from '../db.ts';
import type { Logger } from '../log.ts';
import { LeaseLost } from './declare.ts';
import { renew } from './lease.ts';
import type { Outcome } from './outcome.ts';
import { type Claimed, jobQueue } from './store.ts';

/** A job that this process holds, from its claim until its outcome is on record. */
export interface Hold {
  job: Claimed;
  lane: string;
  leaseSeconds: number;
  abort: AbortController;
  /** By this process's monotonic clock: without word from the database until then, somebody else may hold the job. */
  sureUntil: number;
  /** The database said that it is not ours any more. */
  lost: boolean;
  /** Its outcome, once it is on its way to the record: the first one counts. */
  ending?: Promise<Outcome['is'] | 'lost'>;
}

export interface Holds {
  add(hold: Hold): void;
  remove(hold: Hold): void;
  lose(hold: Hold): void;
  ids(): number[];
  all(): Hold[];
  renewNow(): Promise<void>;
  stop(): void;
}

export interface HoldOptions {
  db: Db;
  log: Logger;
  renewEveryMs: number;
  onLost?: (hold: Hold) => void;
}

/** All held jobs, renewed by one statement; whoever loses one hears it through its signal. */
export function makeHolds({ db, log, renewEveryMs, onLost }: HoldOptions): Holds {
  const held = new Map<number, Hold>();

  const remove = (hold: Hold) => {
    if (held.get(hold.job.id) === hold) held.delete(hold.job.id);
  };

  const lose = (hold: Hold) => {
    if (hold.lost) return;
    hold.lost = true;
    remove(hold);
    hold.abort.abort(new LeaseLost());
    const { id, kind, key, attempts } = hold.job;
    log.warn(
      { job: id, kind, jobKey: key, lane: hold.lane, attempt: attempts },
      'a job is not ours any more: its lease lapsed, it was cancelled, or its end is on record already',
    );
    onLost?.(hold);
  };

  const renewNow = async () => {
    const asked = [...held.values()];
    if (asked.length === 0) return;
    const sentAt = performance.now();
    const verdicts = await db.read((tx) =>
      renew(
        tx,
        jobQueue,
        asked.map(({ job, leaseSeconds }) => ({ id: job.id, lease: job.lease, leaseSeconds })),
      ),
    );
    asked.forEach((hold, i) => {
      if (held.get(hold.job.id) !== hold) return; // its outcome went on record while we asked
      if (verdicts[i] === 'lost') lose(hold);
      if (verdicts[i] === 'settled') hold.sureUntil = sentAt + hold.leaseSeconds * 1000;
    });
  };

  // Not lost for certain, and its outcome is still offered to the database; but another process may have begun the same work.
  const doubt = () => {
    const now = performance.now();
    for (const hold of held.values())
      if (now > hold.sureUntil) hold.abort.abort(new LeaseLost('the lease on this job could not be renewed in time'));
  };

  let renewing = false;
  const renewal = setInterval(() => {
    if (renewing) return;
    renewing = true;
    renewNow()
      .catch((error) => log.warn({ err: error, held: held.size }, 'the leases of running jobs could not be renewed; trying again'))
      .finally(() => (renewing = false));
  }, renewEveryMs);
  const doubting = setInterval(doubt, 1_000);
  renewal.unref();
  doubting.unref();

  return {
    add: (hold) => held.set(hold.job.id, hold),
    remove,
    lose,
    ids: () => [...held.keys()],
    all: () => [...held.values()],
    renewNow,
    stop: () => {
      clearInterval(renewal);
      clearInterval(doubting);
    },
  };
}
