export type { Connection } from './connections.ts';
export { DatabaseBusy, DatabaseFull, DatabaseSlow, DatabaseUnavailable, isAboutData, isUnavailable, isUniqueViolation } from './errors.ts';
export { displayHost, eachHost } from './hosts.ts';
export { assertNoOutbound } from './outbound-check.ts';
export { type Db, type DbOptions, openDb } from './pool.ts';
export { readOnly } from './read-only.ts';
export { row, rows, run } from './rows.ts';
export { type Slot, type Slots, type Tx, txOn } from './transaction.ts';
export { types } from './types.ts';
