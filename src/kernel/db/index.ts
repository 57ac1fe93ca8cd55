/**
 * The database as areas use it: `db.read` and `db.write` run a unit of work on a connection of its own.
 *
 * Actors. Every request, job and plane works for a tenant (`WorkContext`). The semaphore gives tenants their turns, the pool has the
 * connections, PostgreSQL has the rows.
 *
 * Flow of a unit (pool.ts): turn on the event loop (`LoopWatch`) → turn among the tenants (`FairSemaphore`, DatabaseBusy when it waits too long)
 * → connection (connections.ts) → work → COMMIT or ROLLBACK (transaction-mode.ts) → connection released → listeners called.
 * `read` has no transaction: each statement commits by itself. `write` is one transaction. Statements are pipelined: BEGIN travels with
 * the first one, and socket.ts sends the statements of one loop turn together.
 *
 * States of a unit (transaction.ts): open, then committed, failed, or in doubt when the reply to COMMIT never came. A deadlock, a lost race
 * for a unique name and a missing parent are retried, three attempts in all; after a failed statement outside a transaction only if it was
 * the only one.
 *
 * Crashes. Only what has committed exists. `afterCommit` runs in memory, and is lost with the process: it carries hints, and work that must
 * happen is a job. errors.ts turns the driver's errors into DatabaseUnavailable, DatabaseSlow or DatabaseFull: callers may try again.
 *
 * rows.ts types the rows. hosts.ts reads URLs with several servers. read-only.ts and outbound-check.ts find mistakes in tests.
 */
export type { Connection } from './connections.ts';
export {
  asUnavailable,
  DatabaseBusy,
  DatabaseFull,
  DatabaseSlow,
  DatabaseUnavailable,
  isAboutData,
  isUnavailable,
  isUniqueViolation,
} from './errors.ts';
export { displayHost, eachHost } from './hosts.ts';
export { assertNoOutbound } from './outbound-check.ts';
export { type Db, type DbOptions, openDb } from './pool.ts';
export { readOnly } from './read-only.ts';
export { row, rows, run } from './rows.ts';
export { type Slot, type Slots, type Tx, txOn } from './transaction.ts';
export { types } from './types.ts';
