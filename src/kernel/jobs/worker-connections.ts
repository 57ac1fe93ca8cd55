import type { App } from '../app.ts';
import { type Db, type DbOptions, openDb } from '../db/index.ts';

/** A worker's own connections: handlers that use up the pool block neither claims of pages nor renewals of leases. */
export interface WorkerConnections {
  claims: Db;
  outcomes: Db;
  /** For the handlers of pages: they do not queue behind requests, most of which come exactly during an incident. */
  paging: Db;
  end(): Promise<unknown>;
}

/**
 * The planner's estimate for a table that is empty now and holds 100,000 rows a minute later is always wrong, and a plan is cached per
 * connection. Every statement here should use an index, so these connections allow nothing else.
 */
const indexOnlySettings = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_sort: 'off',
};

/**
 * By default every connection plans each statement anew for its first five uses. Pages come in bursts, on connections that have just been
 * opened, and their statements find rows by key. So the generic plan is the right one.
 */
const genericPlanSettings = { plan_cache_mode: 'force_generic_plan' };

export function openConnections({ connection, strict, log, waker, watch, refusals }: App): WorkerConnections {
  const onError = (error: Error) => log.warn({ err: error }, 'trouble beside the worker’s statements');
  const open = (max: number, { perOrg = max, ...rest }: Pick<DbOptions, 'perOrg' | 'patienceMs' | 'settings'> = {}) =>
    openDb({ connection, max, perOrg, watch, refused: refusals.of('connections of jobs'), checkRows: strict, onError, ...rest });
  // A claim need not be on disk before its job starts. If a crash of the server undoes it, so that another worker claims the job too, then
  // ours cannot finish it any more. An outcome must be on disk. Every lane polls at the same moment, each for a millisecond or two: one
  // connection serves them all, unless one of them hangs.
  const claims = open(3, { patienceMs: 50, settings: { ...indexOnlySettings, synchronous_commit: 'off' } });
  const outcomes = open(2, { settings: indexOnlySettings });
  const paging = open(12, { perOrg: 8, settings: genericPlanSettings });
  paging.onWake((channel) => waker.wake(channel));
  return { claims, outcomes, paging, end: () => Promise.all([claims.end(), outcomes.end(), paging.end()]) };
}
