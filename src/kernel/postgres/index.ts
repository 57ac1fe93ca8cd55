/**
 * The embedded PostgreSQL: one server for each data directory, and exactly one keeper of it.
 *
 * Actors. The keeper is the Quarterdeck process that starts, adopts and stops the server. Commands beside a running keeper only connect
 * (connection.ts). The postmaster is PostgreSQL's own parent process.
 *
 * Flow of a start (keep.ts): lock the data directory → look for a live postmaster (postmaster.ts) → none: create the cluster if there is none
 * (initialize.ts) and launch one (launch.ts) → connect and take the keeper's lock (keeper-lock.ts) → create the database `quarterdeck` →
 * keep-running.ts watches the lock's connection until the stop. Every round of keep.ts reads the current state and takes one step, so
 * two starts at once need no agreement.
 *
 * Locks. The lock of the data directory is a file. The keeper's lock is a session lock in PostgreSQL: it ends with the process that holds it.
 * postmaster-lock.ts: the postmaster and its processes inherit a file lock, so no second server starts on one cluster from another namespace.
 *
 * Crashes. A killed keeper leaves its server running, and the next keeper adopts it. A killed server recovers its journal at the next
 * launch; silence-check.ts gives a recovery its time and limits silence to 30 s. A cluster is created beside its final name, synced and then
 * renamed; leftovers.ts removes half-made ones. When a process of PostgreSQL crashes, the lock's connection breaks, and the keeper takes the
 * lock again.
 *
 * software.ts prepares the programs, settings.ts their settings, socket.ts the directory of the socket, paths.ts all paths.
 */
export { connectRunning, type EmbeddedConnection } from './connection.ts';
export type { PostgresEvent } from './events.ts';
export { keepPostgres, lockDataDirectory } from './keep.ts';
export type { EmbeddedPostgres } from './keep-running.ts';
