import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import Type, { type Static } from 'typebox';
import { type Db, row, run, type Tx } from '../db/index.ts';
import { exitCodes, Stop } from '../errors.ts';
import type { Storage } from './storage.ts';

// A random id in the database, and the same as an object. A server with another storage would accept pushes that are 404 on the other
// servers. The row comes first, then the object, then the mark that it was written; the next start completes a kill in between.

const key = 'installation/id';

const CanaryRow = Type.Object({ id: Type.String(), is_written: Type.Boolean() });

const findCanary = (tx: Tx) => row(tx, CanaryRow)`select id, is_written from kernel.storage_canary`;

const lockCanary = (tx: Tx) => row(tx, CanaryRow)`select id, is_written from kernel.storage_canary for update`;

const insertCanary = (tx: Tx, id: string) => run(tx)`insert into kernel.storage_canary (id) values (${id}) on conflict (one) do nothing`;

const markWritten = (tx: Tx) => run(tx)`update kernel.storage_canary set is_written = true where not is_written`;

async function readObject(storage: Storage): Promise<string | undefined> {
  const opened = await storage.open(key);
  return opened && (await text(opened.stream)).trim();
}

/** Throws an error if this is not the storage of this database. The first start of an installation marks its storage. */
export async function requireStorage(db: Db, storage: Storage, name: string): Promise<void> {
  const known = await db.read(findCanary);
  const shown = await readObject(storage);
  if (shown !== undefined && shown === known?.id) return ensureMarked(db, known);
  // Another server that starts at this moment may have created both since the first read.
  const canary = known ?? (shown === undefined ? await makeCanary(db) : await db.read(findCanary));
  if (shown !== undefined && shown === canary?.id) return ensureMarked(db, canary);
  if (shown !== undefined || canary === undefined) throw otherInstallation(name);
  await markStorage(db, storage, name);
}

/** A killed start, and a restore, leave an object that is not marked as written: until it is, another storage would be accepted too. */
async function ensureMarked(db: Db, { is_written }: Static<typeof CanaryRow>): Promise<void> {
  if (!is_written) await db.write(markWritten);
}

/** Under the row's lock: of two servers that start with two storages, the second finds that the first has marked its own. */
const markStorage = (db: Db, storage: Storage, name: string): Promise<void> =>
  db.write(async (tx) => {
    const { id, is_written } = (await lockCanary(tx))!;
    if (is_written && (await readObject(storage)) !== id) throw notThisDatabase(name);
    await storage.put(key, Buffer.from(id));
    await markWritten(tx);
  });

/** The sentence with which a start would refuse it; nothing is written. */
export async function checkStorage(db: Db, storage: Storage, name: string): Promise<string | undefined> {
  const shown = await readObject(storage);
  const known = await db.read(findCanary);
  if (shown !== undefined && shown !== known?.id) return otherInstallation(name).message;
  return shown === undefined && known?.is_written ? notThisDatabase(name).message : undefined;
}

/** Servers that start together agree on one. */
async function makeCanary(db: Db) {
  await db.write((tx) => insertCanary(tx, randomUUID()));
  return (await db.read(findCanary))!;
}

const adopt = 'run `quarterdeck admin adopt-storage`, which makes it this installation’s';

const notThisDatabase = (name: string) =>
  new Stop(
    exitCodes.configuration,
    `${name} is not the storage of this database, whose objects are elsewhere: set QUARTERDECK_STORAGE as on the other servers; if it is the right one, ${adopt}`,
  );

const otherInstallation = (name: string) =>
  new Stop(
    exitCodes.configuration,
    `${name} is the storage of another installation: set QUARTERDECK_STORAGE as on the other servers, or to one of its own; if that installation is gone, ${adopt}`,
  );

/** For an operator who moved the objects without their mark, or lost them. */
export async function adoptStorage(db: Db, storage: Storage): Promise<string> {
  const { id } = (await db.read(findCanary)) ?? (await makeCanary(db));
  await storage.put(key, Buffer.from(id));
  await db.write(markWritten);
  return id;
}

/** Before the rows of a backup are restored: the storage gets the id that they will name; another installation's storage is refused. */
export async function markForRestore(storage: Storage, id: string): Promise<void> {
  const shown = await readObject(storage);
  if (shown === undefined) return void (await storage.put(key, Buffer.from(id)));
  if (shown === id) return;
  throw new Stop(
    exitCodes.refused,
    `the storage is another installation’s: restore with another QUARTERDECK_STORAGE; if that installation is gone, delete its object ${key} first`,
  );
}

/** An older backup names no id: it takes over the storage's id. */
export async function adoptStorageId(db: Db, storage: Storage): Promise<void> {
  const shown = await readObject(storage);
  if (shown !== undefined) await db.write((tx) => insertCanary(tx, shown));
}
