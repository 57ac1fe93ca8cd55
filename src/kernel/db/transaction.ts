import type pg from 'pg';
import { currentContext, type LoopWatch } from '../fairness/index.ts';
import { type Sql, statement } from '../sql.ts';
import { codeOf } from './errors.ts';

/** A connection to speak SQL on: inside `write`, one transaction. Statements run in the order in which they are given, and those
 *  that need nothing of each other's answers are given together, in a `Promise.all`. */
export interface Tx {
  query(piece: Sql): Promise<{ rows: Record<string, unknown>[]; rowCount: number }>;
  /** Tests hold every row against its schema; in production the schema only gives the static type. */
  readonly checksRows: boolean;
  /** Runs once COMMIT has been answered, in order; never when it rolls back. */
  afterCommit(act: () => void): void;
  /** Runs when it has failed instead. `isKnown` is false if COMMIT may have happened all the same: its answer never came. */
  afterFailure(act: (isKnown: boolean) => void): void;
  /** Slots of this process's workers, for work that this transaction makes; undefined where nobody works, and outside a transaction. */
  readonly slots: Slots | undefined;
  /** Marks a channel; who hears it, in whatever process, is told once COMMIT has been answered. A hint: see jobs/wake.ts. */
  wake(channel: string): void;
}

/** Where work may begin in this process as soon as the transaction that makes it has committed: docs/areas/kernel.md, “birth under a lease”. */
export interface Slots {
  /** Undefined: none is free for it. Whoever took one begins in it or gives it back. */
  take(work: { lane: string; kind: string; org: string | undefined }): Slot | undefined;
}

/** A slot that is taken for one job, and the lease under which the job is inserted. */
export interface Slot {
  lease: string;
  leaseSeconds: number;
  begin(job: { id: number; key: string; payload: unknown; requestId: string | undefined; runAt: string }): void;
  release(isKnown?: boolean): void;
}

/** What hangs on a transaction's COMMIT. */
export interface TransactionState {
  after: (() => void)[];
  failed: ((isKnown: boolean) => void)[];
  marked: Set<string>;
  checksRows: boolean;
  watch: LoopWatch | undefined;
  slots: Slots | undefined;
  /** Statements that were given so far, and why the first that failed did. */
  given: number;
  failure: unknown;
  /** How it ended, once that was told: a statement that was on its way when another part failed answers later than this. */
  end: 'committed' | 'failed' | 'in doubt' | undefined;
}
export const makeTransactionState = (checksRows: boolean, watch?: LoopWatch, slots?: Slots): TransactionState => ({
  after: [],
  failed: [],
  marked: new Set(),
  checksRows,
  watch,
  slots,
  given: 0,
  failure: undefined,
  end: undefined,
});

/** To be told at its end; at once if that is over. */
const hearCommit = (noted: TransactionState, act: () => void) => void (noted.end === 'committed' ? act() : noted.after.push(act));
const hearFailure = (noted: TransactionState, act: (isKnown: boolean) => void) =>
  void (noted.end === 'failed' || noted.end === 'in doubt' ? act(noted.end === 'failed') : noted.failed.push(act));

/** Does the work on this connection. What part of it is still under way when another has failed cannot reach whoever has it next. */
export async function runTransaction<T>(client: pg.ClientBase, noted: TransactionState, work: (tx: Tx) => Promise<T>): Promise<T> {
  const tx = onClient(client, noted);
  let over = false;
  try {
    return await work({
      ...tx,
      query: async (piece) => {
        if (over) throw new Error('a statement came after the end of its transaction');
        noted.given++;
        try {
          return await tx.query(piece);
        } catch (error) {
          // Those behind one that failed fail because of it: whichever of them is heard first, that one is the reason.
          noted.failure ??= error;
          throw codeOf(error) === '25P02' ? noted.failure : error;
        }
      },
    });
  } finally {
    over = true;
  }
}

function onClient(client: pg.ClientBase, noted: TransactionState): Tx {
  const { marked, checksRows, watch, slots } = noted;
  return {
    checksRows,
    slots,
    query: async (piece) => {
      const result = await client.query(statement(piece));
      watch?.resume(currentContext());
      return { rows: result.rows, rowCount: result.rowCount ?? 0 };
    },
    afterCommit: (act) => hearCommit(noted, act),
    afterFailure: (act) => hearFailure(noted, act),
    wake: (channel) => marked.add(channel),
  };
}

/** Speaks on a connection whose transaction is the caller's own, such as a backup's snapshot; what hangs on COMMIT never runs. */
export const txOn = (client: pg.Client): Tx => onClient(client, makeTransactionState(false));
