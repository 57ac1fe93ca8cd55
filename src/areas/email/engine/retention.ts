import type { App } from '../../../kernel/app.ts';
import { mayRemoveStored } from '../../../kernel/backup/backup-lock.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { now } from '../../../kernel/time.ts';
import * as store from '../store/retention.ts';

const batchSize = 100;
/** A younger object without a row may belong to a message that is being accepted. */
const orphanAfterMs = 86_400_000;

/** Removes content after 30 days and messages after 90. Safe to run twice and to be killed: each batch is one transaction. */
export async function removeExpired(app: App, signal: AbortSignal): Promise<void> {
  const { db, storage } = app;
  const removeStored = (
    find: (tx: Tx, limit: number) => Promise<string[]>,
    forget: (tx: Tx, keys: readonly string[]) => Promise<unknown>,
  ) =>
    db.write(async (tx) => {
      if (!(await mayRemoveStored(tx))) return 0;
      const keys = await find(tx, batchSize);
      if (keys.length > 0) await forget(tx, keys);
      for (const key of keys) await storage.remove(key);
      return keys.length;
    });
  while (!signal.aborted && (await removeStored(store.findOldSegments, store.deleteSegments)) === batchSize);
  while (!signal.aborted && (await removeStored(store.findOldObjects, store.forgetObjects)) === batchSize);
  while (!signal.aborted && (await db.write((tx) => store.deleteOldMessages(tx, 10 * batchSize))) === 10 * batchSize);
  while (!signal.aborted && (await db.write((tx) => store.deleteOldDeliveries(tx, 10 * batchSize))) === 10 * batchSize);
  while (!signal.aborted && (await db.write((tx) => store.deleteOldEvents(tx, 10 * batchSize))) === 10 * batchSize);
  await db.write(store.deleteOldCounters);
}

/** Removes objects without a row, left by a process that was killed between writing the bytes and the row. */
export async function sweepOrphans({ db, storage, log }: App, signal: AbortSignal): Promise<void> {
  let swept = 0;
  let keys: string[] = [];
  const sweep = () =>
    db.write(async (tx) => {
      if (keys.length === 0 || !(await mayRemoveStored(tx))) return;
      const named = await store.findReferenced(tx, keys);
      for (const key of keys.filter((each) => !named.has(each))) {
        await storage.remove(key);
        swept++;
      }
      keys = [];
    });
  const before = new Date(Date.parse(await db.read(now)) - orphanAfterMs);
  for await (const { key, modifiedAt } of storage.list('mail/')) {
    if (signal.aborted) return;
    if (modifiedAt < before) keys.push(key);
    if (keys.length >= batchSize) await sweep();
  }
  await sweep();
  if (swept > 0) log.info({ swept }, 'removed stored content of mail that was never accepted');
}
