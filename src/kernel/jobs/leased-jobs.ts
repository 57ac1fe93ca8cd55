import type { Db } from '../db/index.ts';
import type { Logger } from '../log.ts';
import { LeaseLost } from './declare.ts';
import { renew } from './lease.ts';
import type { Outcome } from './outcome.ts';
import { type ClaimedJob, jobQueue } from './store.ts';

/** A job under a lease of this process, from its claim until its outcome is recorded. */
export interface LeasedJob {
  job: ClaimedJob;
  lane: string;
  leaseSeconds: number;
  abort: AbortController;
  /** By this process's monotonic clock: without a renewal until then, another worker may have leased the job. */
  validUntil: number;
  /** The database said that the lease is lost. */
  isLost: boolean;
  /** Its end is being recorded, or is recorded. A missing row is expected then, and the caller that ends it gets the result. */
  isEnding: boolean;
  /** The promise of its outcome, once recording has begun: the first outcome counts. */
  ending?: Promise<Outcome['is'] | 'lost'>;
}

export interface LeasedJobs {
  add(leased: LeasedJob): void;
  remove(leased: LeasedJob): void;
  /** The lease is lost: the handler is notified through its signal. */
  lose(leased: LeasedJob): void;
  ids(): number[];
  all(): LeasedJob[];
  stop(): void;
}

interface LeaseTable {
  db: Db;
  log: Logger;
  jobs: Map<number, LeasedJob>;
  isRenewing: boolean;
}

/** All jobs under leases of this process. One statement renews them all. */
export function makeLeasedJobs({ db, log, renewEveryMs }: { db: Db; log: Logger; renewEveryMs: number }): LeasedJobs {
  const leases: LeaseTable = { db, log, jobs: new Map(), isRenewing: false };
  const renewal = setInterval(renewUnlessRenewing, renewEveryMs, leases).unref();
  const expiryCheck = setInterval(abortExpired, 1_000, leases).unref();
  return {
    add: (leased) => leases.jobs.set(leased.job.id, leased),
    remove: (leased) => removeJob(leases, leased),
    lose: (leased) => loseJob(leases, leased),
    ids: () => [...leases.jobs.keys()],
    all: () => [...leases.jobs.values()],
    stop: () => {
      clearInterval(renewal);
      clearInterval(expiryCheck);
    },
  };
}

function renewUnlessRenewing(leases: LeaseTable): void {
  if (leases.isRenewing) return;
  leases.isRenewing = true;
  renewAll(leases)
    .catch((error) =>
      leases.log.warn({ err: error, held: leases.jobs.size }, 'the leases of running jobs could not be renewed; trying again'),
    )
    .finally(() => (leases.isRenewing = false));
}

async function renewAll(leases: LeaseTable): Promise<void> {
  const renewed = [...leases.jobs.values()];
  if (renewed.length === 0) return;
  const sentAt = performance.now();
  const wanted = renewed.map(({ job, leaseSeconds }) => ({ id: job.id, lease: job.lease, leaseSeconds }));
  const verdicts = await leases.db.read((tx) => renew(tx, jobQueue, wanted));
  renewed.forEach((leased, i) => {
    if (leases.jobs.get(leased.job.id) !== leased) return; // its outcome was recorded during the query
    // The database may have committed the end of the job, and answered this renewal before it answered the statement that ends it.
    if (verdicts[i] === 'lost' && !leased.isEnding) loseJob(leases, leased);
    if (verdicts[i] === 'settled') leased.validUntil = sentAt + leased.leaseSeconds * 1000;
  });
}

/**
 * The lease is not lost for certain, and the outcome is still offered to the database; but another process may have started the same work.
 */
function abortExpired({ jobs }: LeaseTable): void {
  const now = performance.now();
  for (const { validUntil, abort } of jobs.values())
    if (now > validUntil) abort.abort(new LeaseLost('the lease on this job could not be renewed in time'));
}

function loseJob(leases: LeaseTable, leased: LeasedJob): void {
  if (leased.isLost) return;
  leased.isLost = true;
  removeJob(leases, leased);
  leased.abort.abort(new LeaseLost());
  const { id, kind, key, attempts } = leased.job;
  leases.log.warn(
    { job: id, kind, jobKey: key, lane: leased.lane, attempt: attempts },
    'a job is not ours any more: its lease lapsed, it was cancelled, or its end is on record already',
  );
}

/** A lost job may be leased by this process again, under a newer lease: that entry stays. */
function removeJob({ jobs }: LeaseTable, leased: LeasedJob): void {
  if (jobs.get(leased.job.id) === leased) jobs.delete(leased.job.id);
}
