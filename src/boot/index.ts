/**
 * Boot: the parts of a start that belong to no area. src/serve.ts calls them in order and stops them in reverse; files are imported by their
 * names, and this one only tells how they belong together.
 *
 * Actors. The parent (bin/parent.mjs) starts the server, starts it again after a crash, and replaces it at a reload. The operator gives settings, and perhaps a
 * PostgreSQL of their own. A service manager reads the exit code, a monitoring system the probes and metrics.
 *
 * Flow of a start: prepare-start.ts refuses what can be refused with nothing started (foreign files, a missing address, a bad certificate: edge.ts)
 * → database.ts opens the embedded PostgreSQL, or external.ts the operator's (pooler.ts detects a transaction pooler, follow-writable.ts follows
 * a failover) → migrations → first-start.ts makes the organization and the owner's token → storage.ts opens the storage and compares its
 * canary → open-areas.ts opens the areas → the HTTP server, with probes.ts, docs.ts and metrics.ts → the port is bound last. try.ts joins the
 * server to the world of `serve --try` (src/try).
 *
 * States. A server is alive while its port answers, and ready while the database answers and no disk is full (probes.ts). parts.ts has the
 * order in which it ends. parent.ts is its channel to the parent; check-next.ts what it checks while the server before it still serves, and
 * note-server.ts where `admin reload` finds it.
 *
 * Crashes. Each step is safe to repeat: migrations run under a lock, the first organization is made in one transaction, the owner's token is
 * minted again when it is gone. A start that fails stops what it has started. The embedded PostgreSQL is started again when it ends by
 * itself. A server that must not go on, because another one has its data directory, ends with its own exit code (stop-with-exit-code.ts).
 * measure-faults.ts counts exceptions across restarts from the fault file.
 */
export {};
