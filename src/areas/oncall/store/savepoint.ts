import { run, type Tx } from '../../../kernel/db/index.ts';

/** A savepoint before rows that the database may refuse. */
export const setSavepoint = (tx: Tx) => run(tx)`savepoint before_pages`;

/** Rolls back to the savepoint. */
export const undoToSavepoint = (tx: Tx) => run(tx)`rollback to savepoint before_pages`;
