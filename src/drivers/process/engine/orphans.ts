import { join } from 'node:path';
import type { App } from '../../../kernel/app.ts';
import { isRunning, markOf, type ProcessMark, pidSpace } from '../../../kernel/programs/process.ts';
import { readRecord, writeRecord } from '../../../kernel/programs/start.ts';
import { now } from '../../../kernel/time.ts';
import type { ClusterLeases } from '../../driver.ts';
import { detectedCgroups, isAllowed } from '../clients/cgroup.ts';
import { listDirectories, removeDirectory, runDir } from '../clients/directory.ts';
import { readRecords, stopAll } from '../clients/programs.ts';
import { listGenerations, listStores, noteUnknown, removeGeneration, removeStore, wasServed } from '../clients/store-directory.ts';
import { type FormerGeneration, findFormerGenerations } from '../store/generations.ts';
import { dropBatch, endLongTransactions, findOrphanedStores } from '../store/kine.ts';
import { isOwnDatabase } from './database-url.ts';

/** Which server process runs the programs of a directory, and under which lease. */
interface HolderRecord extends ProcessMark {
  lease: string;
  /** As `pidSpace`. */
  among: string;
}

const holderPath = (dir: string) => join(dir, 'holder.json');

/** Written before any program starts, so that a later server knows whose programs it finds. */
export async function recordHolder(dir: string, lease: string): Promise<void> {
  const mark = await markOf(process.pid);
  if (mark) await writeRecord(holderPath(dir), { ...mark, lease, among: await pidSpace() } satisfies HolderRecord);
}

/** Releases the leases of a server process that was killed on this machine, so that its programs are adopted without waiting for expiry. */
export async function releaseDeadHolders(app: App, clusterLeases: ClusterLeases): Promise<void> {
  const among = await pidSpace();
  const leases: string[] = [];
  for (const cluster of await listDirectories(app.config.data)) {
    const holder = await readRecord<HolderRecord>(holderPath(join(runDir(app.config.data), cluster)));
    if (among !== '' && holder?.among === among && holder.pid !== process.pid && !(await isRunning(holder))) leases.push(holder.lease);
  }
  if (leases.length > 0) await app.db.write((tx) => clusterLeases.release(tx, leases));
}

/** Stops programs of clusters that were deleted, or that another server has taken over. */
export async function sweepOrphans(app: App, leases: ClusterLeases, isHeld: (cluster: string) => boolean): Promise<void> {
  const places = (await listDirectories(app.config.data)).filter((cluster) => !isHeld(cluster));
  await removeEmptyCgroups(isHeld);
  await endLongTransactionsNow(app);
  await dropOrphanedStores(app);
  await removeUnknownStores(app, leases, isHeld);
  await removeFormerGenerations(app);
  if (places.length === 0) return;
  const known = new Map((await app.db.read((tx) => leases.find(tx, places))).map((row) => [row.id, row]));
  for (const cluster of places)
    await stopIfOrphaned(app, cluster, known.get(cluster), isHeld).catch((error) =>
      app.log.warn({ err: error, cluster }, 'what is left of a cluster could not be ended; it is tried again'),
    );
}

async function stopIfOrphaned(
  app: App,
  cluster: string,
  row: { is_held: boolean; lease: string | null } | undefined,
  isHeld: (cluster: string) => boolean,
): Promise<void> {
  const dir = join(runDir(app.config.data), cluster);
  const holder = await readRecord<HolderRecord>(holderPath(dir));
  const isAnothers = row?.is_held === true && row.lease !== holder?.lease;
  // This server may have claimed the cluster since. If it claims it from now on, `waitForSweep` makes it wait until the old programs have stopped.
  if ((row && !isAnothers) || isHeld(cluster)) return;
  app.log.info(
    { cluster },
    row ? 'a cluster is another server’s now; its programs here are ended' : 'a cluster is gone; its programs are ended',
  );
  const work = stopAll(dir).then(() => removeDirectory(app.config.data, cluster));
  stopping.set(dir, work);
  await work.finally(() => stopping.delete(dir));
}

/** Longer than a server runs with the wrong database before somebody sees it: etcd's files cannot be made again. */
const unknownStoreMs = 86_400_000;

/** Files of etcd whose cluster the database does not know: another server deleted it, or this is not the database of these clusters. */
async function removeUnknownStores(app: App, leases: ClusterLeases, isHeld: (cluster: string) => boolean): Promise<void> {
  const stores = (await listStores(app.config.data)).filter((cluster) => !isHeld(cluster));
  if (stores.length === 0) return;
  const [known, at] = await app.db.read((tx) => Promise.all([leases.find(tx, stores), now(tx)]));
  const ids = new Set(known.map(({ id }) => id));
  for (const cluster of stores.filter((id) => !ids.has(id))) {
    const since = await noteUnknown(app.config.data, cluster, Date.parse(at));
    if (Date.parse(at) - since < unknownStoreMs) continue;
    app.log.info({ cluster }, 'a cluster has been gone for a day; the files of its datastore are removed');
    await removeStore(app.config.data, cluster);
  }
}

/** Files of etcd that a restore has replaced, or that a restore or move began and gave up. One whose programs still run waits. */
async function removeFormerGenerations(app: App): Promise<void> {
  const stores = await listStores(app.config.data);
  // Before the database is asked: a generation that is made now has its change there already.
  const found = (await Promise.all(stores.map((cluster) => listGenerations(app.config.data, cluster)))).flat();
  if (found.length === 0) return;
  for (const former of await app.db.read((tx) => findFormerGenerations(tx, found)))
    await removeFormerGeneration(app, former).catch((error) =>
      app.log.warn({ err: error, ...former }, 'the files of a former datastore could not be removed; it is tried again'),
    );
}

async function removeFormerGeneration(app: App, { cluster, generation, has_failed }: FormerGeneration): Promise<void> {
  const { data } = app.config;
  const records = await readRecords(join(runDir(data), cluster));
  if (records.some(({ name }) => name.startsWith(`etcd-${generation}-`))) return;
  // A database that was set back takes a change for failed that was not.
  if (has_failed && (await wasServed(data, cluster, generation))) return;
  await removeGeneration(data, cluster, generation);
  app.log.info({ cluster, generation }, 'the files of a datastore that its cluster does not use any more are removed');
}

/** kine's transactions take seconds; only its one-time migration of an old table may take minutes. */
const maxTransactionSeconds = 600;

async function endLongTransactionsNow(app: App): Promise<void> {
  if (!isOwnDatabase(app)) return;
  for (const store of await app.db.write((tx) => endLongTransactions(tx, maxTransactionSeconds)))
    app.log.warn({ store }, 'a cluster’s store had a transaction open for longer than ten minutes; its session is ended');
}

const batchesPerSweep = 20;

/** Drops stores of deleted clusters whose roles own too many objects for one transaction. In an external database clusters have no roles. */
async function dropOrphanedStores(app: App): Promise<void> {
  if (!isOwnDatabase(app)) return;
  for (const store of await app.db.read(findOrphanedStores)) {
    let why: string | undefined;
    for (let n = 0; n === 0 || (why !== undefined && n < batchesPerSweep); n++) why = await app.db.write((tx) => dropBatch(tx, store));
    if (why === undefined) app.log.info({ store }, 'a store that no cluster uses was still there; it is dropped');
    else app.log.warn({ store, why }, 'a store that no cluster uses cannot be dropped yet; it is tried again');
  }
}

/** Directories whose programs are being stopped. */
const stopping = new Map<string, Promise<void>>();

/** Resolves when a sweep of this directory, if one is running, has finished. */
export async function waitForSweep(dataDir: string, cluster: string): Promise<void> {
  await stopping.get(join(runDir(dataDir), cluster))?.catch(() => {}); // programs that are left are found by their records
}

/** A cgroup that still has a process stays. */
async function removeEmptyCgroups(isHeld: (cluster: string) => boolean): Promise<void> {
  const found = detectedCgroups();
  if (!found || !isAllowed(found)) return;
  for (const cluster of await found.list()) if (!isHeld(cluster)) await found.remove(cluster);
}
