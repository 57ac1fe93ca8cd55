/**
 * Backups of clusters of programs: copies of their objects in the storage, restores, and moves to another store.
 * docs/areas/clusters.md has the operator's view and the crash tables.
 *
 * Actors.
 * - Two lanes (loop.ts) run in each server with the role shard, for the clusters that it serves. One makes backups that are due (take.ts). The other
 *   checks the newest ones (check.ts): it restores them into a control plane of its own and counts. Each does one thing at a time, of the
 *   organizations in turn.
 * - The operator's command writes what it wants into rows (ask.ts) and follows them; a shard does the work.
 * - A restore or a move is a change of its cluster (store-change.ts): the row names the next generation of the store, and the driver fills it through
 *   `storeOrigin`, starts programs on it beside the old ones, and hands the requests over.
 * - Tasks (remove.ts) remove objects of backups that are given up, and objects without a row.
 *
 * Flow of a backup: row `making` → sealed object (content.ts) → row `complete`; above seven the oldest become `removing`, and go with their objects.
 * A check that finds too little room on the disk, or no storage or database, is postponed (`check_postponed`).
 *
 * Flow of a restore: row `wanted`, phase updating → `loading`: the new store is filled, the old one serves → programs on it are ready → `switched`,
 * the last moment with a way back → requests go to it → phase ready, `done`; the driver removes the old store.
 *
 * What survives a crash. Rows decide. A row `making` whose lease is over, or that the holder of its lease does not make, is given up. A check leaves
 * nothing but `check_until`, until which the sweep spares its schema. A change that was `wanted` begins with the next server; one that was
 * `loading` is rolled back by it, and the old store serves; one that was `switched` goes on with the new store.
 */

export {
  askForBackup,
  askForMove,
  askForRestore,
  chooseBackup,
  type Followed,
  followBackup,
  followChange,
  listClusterBackups,
} from './ask.ts';
export { type BackupLoop, startBackupLoop } from './loop.ts';
export { removeBackups, sweepBackupObjects } from './remove.ts';
export { rollBackAfter, rollBackInterrupted, settleChange } from './store-change.ts';
