import type { Db, Tx } from '../db/index.ts';
import { task } from './declare.ts';
import { deleteOldDead, deleteOldIdempotency, shortenBrokenLeases } from './store.ts';

/** In batches, each its own transaction: no other transaction waits behind a long delete, and a stop takes effect between two. */
async function inBatches(db: Db, signal: AbortSignal, portion: (tx: Tx) => Promise<number>) {
  while (!signal.aborted && (await db.write(portion)) > 0);
}

const tidyJobs = task('kernel.tidy-jobs', { everySeconds: 60, deadlineSeconds: 60 }, async ({ app, signal }) => {
  await app.db.write(shortenBrokenLeases);
  await inBatches(app.db, signal, deleteOldDead);
});

const tidyIdempotency = task('kernel.tidy-idempotency', { everySeconds: 600, deadlineSeconds: 60 }, async ({ app, signal }) => {
  await inBatches(app.db, signal, deleteOldIdempotency);
});

export const housekeeping = [tidyJobs, tidyIdempotency];
