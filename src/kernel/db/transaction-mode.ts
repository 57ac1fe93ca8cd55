import type pg from 'pg';
import type { TransactionState } from './transaction.ts';

/** How a unit of work begins, ends and rolls back. */
export interface TransactionMode {
  around<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T>;
  /** After a failure, on a connection that still answers. Returns the reason if the connection is unusable now. */
  undo(client: pg.ClientBase): Promise<Error | undefined>;
  /** Whether a unit of work that ended with this error left no changes. */
  isUndone(state: TransactionState, error: unknown): boolean;
  /** Whether jobs that it creates may start in slots of this process: only once a transaction has committed. */
  lendsSlots: boolean;
}

/** Autocommit: each statement is its own transaction, so statements before the failed one may have changed rows. */
export const autocommit: TransactionMode = {
  around: (_client, work) => work(),
  undo: async () => undefined,
  isUndone: ({ statementCount, failure }, error) => statementCount === 1 && error === failure,
  lendsSlots: false,
};

export const inTransaction: TransactionMode = {
  around: async (client, work) => {
    // Not awaited: the first statement travels with it. If BEGIN fails, that statement does not run either.
    const begun = client.query('begin');
    begun.catch(() => {});
    const result = await work();
    await begun;
    // After a failed statement that the caller caught, PostgreSQL answers COMMIT with ROLLBACK, which the driver does not report as an
    // error.
    const { command } = await client.query('commit');
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back because one of its statements had failed');
    return result;
  },
  undo: (client) =>
    client.query('rollback').then(
      () => undefined,
      (error: Error) => error,
    ),
  isUndone: () => true,
  lendsSlots: true,
};
