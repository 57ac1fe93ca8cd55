/**
 * The kernel: machinery that knows neither who asks nor what for. It may import the contract and nothing above it. Files are imported by
 * their names; this one only tells what stands where.
 *
 * Rooms. db/ runs statements and transactions, postgres/ keeps the embedded server, jobs/ runs background work, fairness/ shares what runs out
 * between tenants, http/ and smtp/ listen, guard/ and dns/ reach out, storage/ and spool/ hold bytes, data/ locks the data directory,
 * programs/ runs child processes, faults/ confines exceptions to one peer, backup/ has the lock of a running backup and the hold after a
 * restore, x509/ writes certificates.
 *
 * Actors. src/serve.ts builds one `App` (app.ts) for each process and hands it down; there is no global state. config.ts is the only reader
 * of the environment.
 *
 * Flow of a change. A transaction (db/) writes rows, jobs and a NOTIFY → COMMIT → listen.ts hears of it in every process → cache.ts drops what
 * hangs on the topic, and jobs/ wakes the lane. migrate.ts brings the schemas to this release before anything else runs.
 *
 * Time. time.ts is the clock of all decisions (`kernel.now()` in SQL). wall-clock.ts is for values that other machines read. Durations
 * are measured with the monotonic clock.
 *
 * Crashes. PostgreSQL and the storage hold everything that must survive; caches, limits and connections are rebuilt. secrets.ts opens what is
 * sealed in rows with data/secret.key, which is in a backup only on request.
 *
 * Small helpers: errors.ts (refusals), sql.ts (statements from pieces), pagination.ts, steps.ts and yielding.ts (long work in short turns),
 * bounded-map.ts, growing-buffer.ts and release-buffer.ts (memory), assert-progress.ts (loops that must end).
 */
export {};
