import type { Db } from '../db/index.ts';
import type { Logger } from '../log.ts';
import { LeaseLost } from './declare.ts';
import { renew } from './lease.ts';
import type { Outcome } from './outcome.ts';
import { type ClaimedJob, jobQueue } from './store.ts';

/** A job under a lease of this process, from its claim until its outcome is on record. */
export interface LeasedJob {
  job: ClaimedJob;
  lane: string;
  leaseSeconds: number;
  abort: AbortController;
  /** By this process's monotonic clock: without word from the database until then, somebody else may have leased the job. */
  sureUntil: number;
  /** The database said that it is not ours any more. */
  lost: boolean;
  /** Its end is on its way to the record, or there: that the row is gone is then no news, and whoever ends it hears what became of it. */
  isEnding: boolean;
  /** Its outcome, once it is on its way to the record: the first one counts. */
  ending?: Promise<Outcome['is'] | 'lost'>;
}

export interface LeasedJobs {
  add(leased: LeasedJob): void;
  remove(leased: LeasedJob): void;
  /** It is not ours any more: whoever runs it hears that through its signal. */
  lose(leased: LeasedJob): void;
  ids(): number[];
  all(): LeasedJob[];
  stop(): void;
}

interface Leases {
  db: Db;
  log: Logger;
  jobs: Map<number, LeasedJob>;
  renewing: boolean;
}

/** All jobs under our leases, which are renewed by one statement for all of them. */
export function makeLeasedJobs({ db, log, renewEveryMs }: { db: Db; log: Logger; renewEveryMs: number }): LeasedJobs {
  const leases: Leases = { db, log, jobs: new Map(), renewing: false };
  const renewal = setInterval(renewUnlessRenewing, renewEveryMs, leases).unref();
  const doubting = setInterval(abortDoubtful, 1_000, leases).unref();
  return {
    add: (leased) => leases.jobs.set(leased.job.id, leased),
    remove: (leased) => removeJob(leases, leased),
    lose: (leased) => loseJob(leases, leased),
    ids: () => [...leases.jobs.keys()],
    all: () => [...leases.jobs.values()],
    stop: () => {
      clearInterval(renewal);
      clearInterval(doubting);
    },
  };
}

function renewUnlessRenewing(leases: Leases): void {
  if (leases.renewing) return;
  leases.renewing = true;
  renewAll(leases)
    .catch((error) =>
      leases.log.warn({ err: error, held: leases.jobs.size }, 'the leases of running jobs could not be renewed; trying again'),
    )
    .finally(() => (leases.renewing = false));
}

async function renewAll(leases: Leases): Promise<void> {
  const asked = [...leases.jobs.values()];
  if (asked.length === 0) return;
  const sentAt = performance.now();
  const wanted = asked.map(({ job, leaseSeconds }) => ({ id: job.id, lease: job.lease, leaseSeconds }));
  const verdicts = await leases.db.read((tx) => renew(tx, jobQueue, wanted));
  asked.forEach((leased, i) => {
    if (leases.jobs.get(leased.job.id) !== leased) return; // its outcome went on record while we asked
    // The database may have done what ends it, and have told this renewal before it told whoever asked for the end.
    if (verdicts[i] === 'lost' && !leased.isEnding) loseJob(leases, leased);
    if (verdicts[i] === 'settled') leased.sureUntil = sentAt + leased.leaseSeconds * 1000;
  });
}

/** Not lost for certain, and their outcome is still offered to the database; but another process may have begun the same work. */
function abortDoubtful({ jobs }: Leases): void {
  const now = performance.now();
  for (const { sureUntil, abort } of jobs.values())
    if (now > sureUntil) abort.abort(new LeaseLost('the lease on this job could not be renewed in time'));
}

function loseJob(leases: Leases, leased: LeasedJob): void {
  if (leased.lost) return;
  leased.lost = true;
  removeJob(leases, leased);
  leased.abort.abort(new LeaseLost());
  const { id, kind, key, attempts } = leased.job;
  leases.log.warn(
    { job: id, kind, jobKey: key, lane: leased.lane, attempt: attempts },
    'a job is not ours any more: its lease lapsed, it was cancelled, or its end is on record already',
  );
}

/** A job that we lost may be ours again by then, under a newer lease: that one stays. */
function removeJob({ jobs }: Leases, leased: LeasedJob): void {
  if (jobs.get(leased.job.id) === leased) jobs.delete(leased.job.id);
}
