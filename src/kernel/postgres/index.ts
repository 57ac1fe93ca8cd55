export { connectRunning, type EmbeddedConnection } from './connection.ts';
export type { PostgresEvent } from './events.ts';
export { keepPostgres, lockDataDirectory } from './keep.ts';
export type { EmbeddedPostgres } from './keep-running.ts';
