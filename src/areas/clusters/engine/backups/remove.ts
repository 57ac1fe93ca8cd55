import type { App } from '../../../../kernel/app.ts';
import { mayRemoveStored } from '../../../../kernel/backup/backup-lock.ts';
import { now } from '../../../../kernel/time.ts';
import * as store from '../../store/backups.ts';

const batchSize = 20;
/** A younger object without a row may be of a backup that is being made. */
const orphanAfterMs = 86_400_000;

/** Gives up backups whose maker is gone, and removes rows with their objects. Safe to run twice and to be killed: each batch is one transaction. */
export async function removeBackups({ db, storage }: Pick<App, 'db' | 'storage'>, signal: AbortSignal): Promise<void> {
  await db.write(store.giveUpAbandoned);
  const removeSome = () =>
    db.write(async (tx) => {
      if (!(await mayRemoveStored(tx))) return 0; // a backup of the installation may be about to copy them
      const found = await store.findRemovable(tx, batchSize);
      for (const each of found) await storage.remove(store.storageKeyOf(each));
      if (found.length > 0)
        await store.deleteBackups(
          tx,
          found.map(({ id }) => id),
        );
      return found.length;
    });
  while (!signal.aborted && (await removeSome()) === batchSize);
}

const prefix = 'cluster-backups/';

/** Removes objects without a row: a server that had lost its cluster, and did not know it, finished one. */
export async function sweepBackupObjects({ db, storage, log }: Pick<App, 'db' | 'storage' | 'log'>, signal: AbortSignal): Promise<void> {
  const before = new Date(Date.parse(await db.read(now)) - orphanAfterMs);
  let keys: string[] = [];
  let swept = 0;
  const sweep = () =>
    db.write(async (tx) => {
      if (keys.length === 0 || !(await mayRemoveStored(tx))) return;
      const idOf = (key: string) => key.slice(key.lastIndexOf('/') + 1);
      const known = await store.knownBackups(tx, keys.map(idOf));
      for (const key of keys.filter((each) => !known.has(idOf(each)))) {
        await storage.remove(key);
        swept++;
      }
      keys = [];
    });
  for await (const { key, modifiedAt } of storage.list(prefix)) {
    if (signal.aborted) return;
    if (modifiedAt < before) keys.push(key);
    if (keys.length >= batchSize) await sweep();
  }
  await sweep();
  if (swept > 0) log.info({ swept }, 'removed objects of cluster backups that no row names');
}
