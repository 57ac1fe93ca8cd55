export { DatabaseAway, isAway, isUniqueViolation } from './db/errors.ts';
export { type Connection, type Db, type DbOptions, openDb } from './db/pool.ts';
export { row, rows, run } from './db/rows.ts';
export { type Tx, txOn } from './db/transaction.ts';
export { types } from './db/types.ts';
