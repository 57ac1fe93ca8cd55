import { sql } from '../sql.ts';
import { codeOf } from './errors.ts';
import type { Tx } from './transaction.ts';

/** In tests: a statement that writes inside of a read fails. In production it is the work alone. */
export async function readOnly<T>(tx: Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
  if (!tx.checksRows) return work(tx);
  await tx.query(sql`set default_transaction_read_only = on`);
  try {
    return await work(tx);
  } catch (error) {
    throw codeOf(error) === '25006' ? new Error('a statement writes inside ctx.read; use ctx.write', { cause: error }) : error;
  } finally {
    await tx.query(sql`set default_transaction_read_only = off`).catch(() => {}); // the connection is lost, and its setting with it
  }
}
