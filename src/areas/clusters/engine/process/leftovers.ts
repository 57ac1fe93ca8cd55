import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '../../../../kernel/app.ts';
import { isRunning, markOf, type ProcessMark } from '../../../../kernel/programs/process.ts';
import { readRecord, writeRecord } from '../../../../kernel/programs/start.ts';
import { isAllowed, knownCgroups } from '../../clients/process/cgroup.ts';
import { placesIn, removePlace, runDir } from '../../clients/process/place.ts';
import { endAll } from '../../clients/process/programs.ts';
import { dropPortion, endLongTransactions, findLeftStores } from '../../store/kine.ts';
import { leasesOf, releaseClusters } from '../../store/shards.ts';
import { isOwnDatabase } from './database-url.ts';

/** Which server runs the programs of a directory, and under which lease. */
interface Holder extends ProcessMark {
  lease: string;
  /** Numbers of processes mean something only among those who share them. */
  among: string;
}

const holderPath = (dir: string) => join(dir, 'holder.json');
const findAmong = () => readlink('/proc/self/ns/pid').catch(() => 'one');

/** Before anything is started: who finds the programs later knows whose they were. */
export async function noteHolder(dir: string, lease: string): Promise<void> {
  const mark = await markOf(process.pid);
  if (mark) await writeRecord(holderPath(dir), { ...mark, lease, among: await findAmong() } satisfies Holder);
}

/** Leases of a server that was killed here are given back at once: its programs need not wait to be adopted. */
export async function giveBackLeases(app: App): Promise<void> {
  const among = await findAmong();
  const leases: string[] = [];
  for (const cluster of await placesIn(app.config.data)) {
    const holder = await readRecord<Holder>(holderPath(join(runDir(app.config.data), cluster)));
    if (holder?.among === among && holder.pid !== process.pid && !(await isRunning(holder))) leases.push(holder.lease);
  }
  if (leases.length > 0) await app.db.write((tx) => releaseClusters(tx, leases));
}

/** Ends what runs here for clusters that are gone, or that another server has taken over since. */
export async function endLeftovers(app: App, isHeld: (cluster: string) => boolean): Promise<void> {
  const places = (await placesIn(app.config.data)).filter((cluster) => !isHeld(cluster));
  await removeEmptyCgroups(isHeld);
  await endLong(app);
  await dropLeftStores(app);
  if (places.length === 0) return;
  const known = new Map((await app.db.read((tx) => leasesOf(tx, places))).map((row) => [row.id, row]));
  for (const cluster of places)
    await endLeft(app, cluster, known.get(cluster), isHeld).catch((error) =>
      app.log.warn({ err: error, cluster }, 'what is left of a cluster could not be ended; it is tried again'),
    );
}

async function endLeft(
  app: App,
  cluster: string,
  row: { is_held: boolean; lease: string | null } | undefined,
  isHeld: (cluster: string) => boolean,
): Promise<void> {
  const dir = join(runDir(app.config.data), cluster);
  const holder = await readRecord<Holder>(holderPath(dir));
  const isAnothers = row?.is_held === true && row.lease !== holder?.lease;
  // This server may have taken it up since; and if it does from now on, it waits until nothing of before is left.
  if ((row && !isAnothers) || isHeld(cluster)) return;
  app.log.info(
    { cluster },
    row ? 'a cluster is another server’s now; its programs here are ended' : 'a cluster is gone; its programs are ended',
  );
  const work = endAll(dir).then(() => removePlace(app.config.data, cluster));
  ending.set(dir, work);
  await work.finally(() => ending.delete(dir));
}

/** kine's own transactions take seconds; only its change of an old table, once, may take minutes. */
const longestSeconds = 600;

async function endLong(app: App): Promise<void> {
  if (!isOwnDatabase(app)) return;
  for (const store of await app.db.write((tx) => endLongTransactions(tx, longestSeconds)))
    app.log.warn({ store }, 'a cluster’s store had a transaction open for longer than ten minutes; its session is ended');
}

const portionsASweep = 20;

/** Stores of clusters that are gone, whose roles own more than can go at once. In another's database clusters have no roles. */
async function dropLeftStores(app: App): Promise<void> {
  if (!isOwnDatabase(app)) return;
  for (const store of await app.db.read(findLeftStores)) {
    let why: string | undefined;
    for (let n = 0; n === 0 || (why !== undefined && n < portionsASweep); n++) why = await app.db.write((tx) => dropPortion(tx, store));
    if (why === undefined) app.log.info({ store }, 'the store of a cluster that is gone was still there; it is dropped');
    else app.log.warn({ store, why }, 'the store of a cluster that is gone cannot be dropped yet; it is tried again');
  }
}

/** Directories whose programs are being ended. */
const ending = new Map<string, Promise<void>>();

/** Whatever a sweep has begun here is over when this resolves. */
export async function waitForSweep(dataDir: string, cluster: string): Promise<void> {
  await ending.get(join(runDir(dataDir), cluster))?.catch(() => {}); // what is left is found by its record
}

/** Those that somebody is still in stay. */
async function removeEmptyCgroups(isHeld: (cluster: string) => boolean): Promise<void> {
  const found = knownCgroups();
  if (!found || !isAllowed(found)) return;
  for (const cluster of await found.list()) if (!isHeld(cluster)) await found.remove(cluster);
}
