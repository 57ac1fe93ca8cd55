import { run, type Tx } from '../../../kernel/db/index.ts';

/** What the database may refuse for the sake of one row is written after it. */
export const setSavepoint = (tx: Tx) => run(tx)`savepoint before_pages`;

/** Back to there. */
export const undoToSavepoint = (tx: Tx) => run(tx)`rollback to savepoint before_pages`;
