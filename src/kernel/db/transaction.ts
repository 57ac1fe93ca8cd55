import type pg from 'pg';
import { currentContext, type LoopWatch } from '../fairness/index.ts';
import { type Sql, statement } from '../sql.ts';
import { codeOf } from './errors.ts';

/**
 * A connection for SQL; inside `write`, one transaction. Statements run in the order in which they are issued. Statements that do not need
 * each other's results are issued together, in a `Promise.all`.
 */
export interface Tx {
  query(piece: Sql): Promise<{ rows: Record<string, unknown>[]; rowCount: number }>;
  /** In tests every row is checked against its schema; in production the schema only gives the static type. */
  readonly checksRows: boolean;
  /** Runs once COMMIT has been answered, in order; never after a rollback. */
  afterCommit(act: () => void): void;
  /** Runs after a failure. `isKnown` is false if the COMMIT may have succeeded: its reply never came. */
  afterFailure(act: (isKnown: boolean) => void): void;
  /** Slots of this process's workers, for jobs that this transaction creates. Undefined where no worker runs, and outside a transaction. */
  readonly slots: Slots | undefined;
  /** Marks a channel. Its listeners, in every process, are notified once COMMIT has been answered, or has failed to be. A hint: see jobs/wake.ts. */
  wake(channel: string): void;
}

/** Jobs may start in this process as soon as the transaction that creates them has committed: docs/areas/kernel.md, “Leased at insert”. */
export interface Slots {
  /** Undefined: no slot is free for it. The caller starts the job in the slot or releases it. */
  take(work: { lane: string; kind: string; org: string | undefined }): Slot | undefined;
}

/** A slot reserved for one job, and the lease under which the job is inserted. */
export interface Slot {
  lease: string;
  leaseSeconds: number;
  begin(job: { id: number; key: string; payload: unknown; requestId: string | undefined; runAt: string }): void;
  release(isKnown?: boolean): void;
}

/** The state of a transaction, and the listeners to call at its end. */
export interface TransactionState {
  commitListeners: (() => void)[];
  failureListeners: ((isKnown: boolean) => void)[];
  markedChannels: Set<string>;
  checksRows: boolean;
  watch: LoopWatch | undefined;
  slots: Slots | undefined;
  /** The number of statements issued, and the error of the first that failed. */
  statementCount: number;
  failure: unknown;
  /** How it ended, once listeners were called. A statement in flight while another failed is answered later than this. */
  outcome: 'committed' | 'failed' | 'in doubt' | undefined;
}
export const makeTransactionState = (checksRows: boolean, watch?: LoopWatch, slots?: Slots): TransactionState => ({
  commitListeners: [],
  failureListeners: [],
  markedChannels: new Set(),
  checksRows,
  watch,
  slots,
  statementCount: 0,
  failure: undefined,
  outcome: undefined,
});

/** Calls the listener at the end of the transaction; at once if it has ended already. */
const onCommit = (state: TransactionState, act: () => void) =>
  void (state.outcome === 'committed' ? act() : state.commitListeners.push(act));
const onFailure = (state: TransactionState, act: (isKnown: boolean) => void) =>
  void (state.outcome === 'failed' || state.outcome === 'in doubt' ? act(state.outcome === 'failed') : state.failureListeners.push(act));

/** Runs the work on this connection. A statement issued after the end throws, so it cannot reach the connection's next user. */
export async function runTransaction<T>(client: pg.ClientBase, state: TransactionState, work: (tx: Tx) => Promise<T>): Promise<T> {
  const tx = onClient(client, state);
  let isOver = false;
  try {
    return await work({
      ...tx,
      query: async (piece) => {
        if (isOver) throw new Error('a statement came after the end of its transaction');
        state.statementCount++;
        try {
          return await tx.query(piece);
        } catch (error) {
          // Statements behind a failed one fail because of it (25P02). Whichever error surfaces first, the original one is reported.
          state.failure ??= error;
          throw codeOf(error) === '25P02' ? state.failure : error;
        }
      },
    });
  } finally {
    isOver = true;
  }
}

function onClient(client: pg.ClientBase, state: TransactionState): Tx {
  const { markedChannels, checksRows, watch, slots } = state;
  return {
    checksRows,
    slots,
    query: async (piece) => {
      const result = await client.query(statement(piece));
      watch?.resume(currentContext());
      return { rows: result.rows, rowCount: result.rowCount ?? 0 };
    },
    afterCommit: (act) => onCommit(state, act),
    afterFailure: (act) => onFailure(state, act),
    wake: (channel) => markedChannels.add(channel),
  };
}

/** For a connection whose transaction the caller manages, such as a backup's snapshot. Commit listeners never run. */
export const txOn = (client: pg.Client): Tx => onClient(client, makeTransactionState(false));
