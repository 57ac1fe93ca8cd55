import type pg from 'pg';
import { currentBehalf, type LoopWatch } from '../shares/index.ts';
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
  /** Marks a channel; who hears it, in whatever process, is told once COMMIT has been answered. A hint: see jobs/wake.ts. */
  wake(channel: string): void;
}

/** What hangs on a transaction's COMMIT. */
export interface Notes {
  after: (() => void)[];
  marked: Set<string>;
  checksRows: boolean;
  watch: LoopWatch | undefined;
}
export const makeNotes = (checksRows: boolean, watch?: LoopWatch): Notes => ({ after: [], marked: new Set(), checksRows, watch });

/** Does the work on this connection. What part of it is still under way when another has failed cannot reach whoever has it next. */
export async function workOn<T>(client: pg.ClientBase, noted: Notes, work: (tx: Tx) => Promise<T>): Promise<T> {
  const tx = onClient(client, noted);
  let over = false;
  let failure: unknown;
  try {
    return await work({
      ...tx,
      query: async (piece) => {
        if (over) throw new Error('a statement came after the end of its transaction');
        try {
          return await tx.query(piece);
        } catch (error) {
          // Those behind one that failed fail because of it: whichever of them is heard first, that one is the reason.
          failure ??= error;
          throw codeOf(error) === '25P02' ? failure : error;
        }
      },
    });
  } finally {
    over = true;
  }
}

function onClient(client: pg.ClientBase, { after, marked, checksRows, watch }: Notes): Tx {
  return {
    checksRows,
    query: async (piece) => {
      const result = await client.query(statement(piece));
      watch?.resume(currentBehalf());
      return { rows: result.rows, rowCount: result.rowCount ?? 0 };
    },
    afterCommit: (act) => after.push(act),
    wake: (channel) => marked.add(channel),
  };
}

/** Speaks on a connection whose transaction is the caller's own, such as a backup's snapshot; what hangs on COMMIT never runs. */
export const txOn = (client: pg.Client): Tx => onClient(client, makeNotes(false));
