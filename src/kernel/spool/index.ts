import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { isFull, lastingDirectories, syncDirectory, unlessMissing } from '../storage/disk.ts';
import { type Storage, StorageFull } from '../storage/index.ts';

/**
 * Many small bodies, one behind the other in segment files: a batch costs one write and one fdatasync, however many bodies it has.
 * With files as the storage, a segment is an object of it from its first byte on. With S3 it is a file of this machine until it is full or
 * old enough; then it becomes an object, and every machine can read it.
 *
 * A torn end is harmless: what was not acknowledged is named by no row. After a write that failed nothing more is added to that segment.
 */
export interface Spool {
  /** Where these will be, at once; `written` answers when they are durable there, or says why they are not. One at a time. */
  append(bodies: readonly Buffer[]): Appended;
  /** What comes next goes into a new segment. */
  rotate(): void;
  /** Whether `store` has something to close or to hand over. */
  readonly isDue: boolean;
  /** The bytes of one; undefined when they are gone, or on another machine. */
  read(place: SpoolPosition): Promise<Readable | undefined>;
  /** Closes what is full or old, and makes objects of segments that are files of this machine: also those of processes that are gone,
   *  which nobody has touched for long. */
  store(telling: Telling, untouchedSince: Date): Promise<void>;
  close(): Promise<void>;
}

export interface Appended {
  places: SpoolPosition[];
  written: Promise<void>;
  /** Nobody wants them after all: the next ones are written in their place. Before anything else is appended. */
  takeBack(): Promise<void>;
}

/** Whoever keeps rows of the places. Both may be told twice. */
export interface Telling {
  /** Nothing is added to it any more. A batch that is being added must fail from now on: its writer may have been stopped for long. */
  seal(key: string): Promise<void>;
  /** It is an object now. */
  stored(key: string): Promise<void>;
}

export interface SpoolPosition {
  key: string;
  offset: number;
  bytes: number;
}

export interface SpoolOptions {
  storage: Storage;
  /** For segments that are not objects yet. */
  folder: string;
  /** Keys begin so. */
  prefix: string;
  /** A segment with so many bytes is full. */
  mostBytes?: number;
  /** One of this age is closed, full or not: nobody else can read it until then. */
  mostAgeMs?: number;
}

interface Segment {
  key: string;
  place: string;
  isObject: boolean;
  file: FileHandle;
}

export function makeSpool(options: SpoolOptions): Spool {
  const { storage, folder, prefix, mostBytes = 64 * 2 ** 20, mostAgeMs = 60_000 } = options;
  const ensureDirectory = lastingDirectories(path.dirname(folder));
  let current: Promise<Segment> | undefined;
  let name = nameSegment(prefix);
  let end = 0;
  let bornAt = 0;
  const full: Segment[] = [];
  /** Files that are not objects yet: one that the storage did not take is handed to it again. */
  const closed = new Map<string, string>();

  const begin = async (key: string): Promise<Segment> => {
    const object = await storage.fileOf(key);
    if (!object) await ensureDirectory(folder);
    const place = object ?? fileOf(folder, key);
    return { key, place, isObject: object !== undefined, file: await createLasting(place) };
  };
  const finish = () => {
    const done = current;
    current = undefined;
    void done?.then(
      (segment) => full.push(segment),
      () => {},
    );
  };

  return {
    append(bodies) {
      const now = performance.now();
      if (current && (end >= mostBytes || now - bornAt >= mostAgeMs)) finish();
      if (!current) {
        name = nameSegment(prefix);
        end = 0;
        bornAt = now;
        current = begin(name);
      }
      const segment = current;
      const offset = end;
      const places = placesFrom(name, offset, bodies);
      end += bodies.reduce((sum, { length }) => sum + length, 0);
      const written = write(segment, bodies, offset).catch((error) => {
        if (current === segment) finish();
        throw isFull(error) ? new StorageFull(error) : error;
      });
      const takeBack = async () => {
        await written.catch(() => {});
        if (current !== segment) return; // nothing is added to it any more: a torn end
        end = offset;
        await segment.then(({ file }) => file.truncate(offset)).catch(finish);
      };
      return { places, written, takeBack };
    },
    rotate: finish,
    get isDue() {
      return full.length > 0 || closed.size > 0 || (current !== undefined && performance.now() - bornAt >= mostAgeMs);
    },
    read: (place) => readPlace(storage, folder, place),
    async store(telling, untouchedSince) {
      if (current && performance.now() - bornAt >= mostAgeMs) finish();
      await new Promise(setImmediate); // what was just finished is among the full ones now
      for (const { file, isObject, key, place } of full.splice(0)) {
        await file.close();
        if (!isObject) closed.set(key, place);
      }
      for (const { key, place } of await abandonedIn(folder, untouchedSince)) closed.set(key, place);
      const failures: unknown[] = [];
      for (const [key, place] of closed)
        await storeFile(storage, key, place, telling).then(
          () => closed.delete(key),
          (error) => failures.push(error),
        );
      if (failures.length > 0) throw failures[0];
    },
    async close() {
      const last = await current?.catch(() => undefined);
      current = undefined;
      for (const { file } of [...full.splice(0), ...(last ? [last] : [])]) await file.close();
    },
  };
}

/**
 * On Linux each write to a segment is durable when it answers (open(2), O_DSYNC): as much as fdatasync behind it, without another trip to a thread.
 * Elsewhere it is synced after it: macOS means less by that flag.
 */
const isDurable = process.platform === 'linux';
const openFlags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | (isDurable ? constants.O_DSYNC : 0);

const nameSegment = (prefix: string) => `${prefix}/${randomBytes(1).toString('hex')}/${randomBytes(15).toString('hex')}`;

/** A file that is there after a power cut. */
async function createLasting(place: string): Promise<FileHandle> {
  const file = await fs.open(place, openFlags, 0o600);
  await syncDirectory(path.dirname(place)).catch(async (error) => {
    await file.close(); // one that is forgotten open ends the process
    throw error;
  });
  return file;
}

/** One behind the other. */
function placesFrom(key: string, offset: number, bodies: readonly Buffer[]): SpoolPosition[] {
  let at = offset;
  return bodies.map(({ length: bytes }) => {
    const place = { key, offset: at, bytes };
    at += bytes;
    return place;
  });
}

async function write(segment: Promise<Segment>, bodies: readonly Buffer[], offset: number): Promise<void> {
  const { file } = await segment;
  let left = bodies.filter((body) => body.length > 0);
  let at = offset;
  while (left.length > 0) {
    const { bytesWritten } = await file.writev(left, at);
    at += bytesWritten;
    left = unwritten(left, bytesWritten);
  }
  if (!isDurable) await file.datasync();
}

/** A write may be a short one: what is left of these. */
function unwritten(bodies: Buffer[], bytes: number): Buffer[] {
  let skip = bytes;
  return bodies.flatMap((body) => {
    const took = Math.min(skip, body.length);
    skip -= took;
    return took === body.length ? [] : [body.subarray(took)];
  });
}

/** The file of a segment that is not an object yet, if this machine has it. */
export const openUnstored = (folder: string, key: string): Promise<FileHandle | undefined> =>
  unlessMissing(fs.open(fileOf(folder, key), 'r'));

const fileOf = (folder: string, key: string) => path.join(folder, encodeURIComponent(key));

async function readPlace(storage: Storage, folder: string, { key, offset, bytes }: SpoolPosition): Promise<Readable | undefined> {
  const file = await openUnstored(folder, key);
  if (file) return file.createReadStream({ start: offset, end: offset + bytes - 1 });
  return (await storage.open(key, { offset, length: bytes }))?.stream;
}

/** Files of processes that are gone, by their age. Whoever only slept is told by `seal` that its segment is closed. */
async function abandonedIn(folder: string, untouchedSince: Date): Promise<{ key: string; place: string }[]> {
  const found: { key: string; place: string }[] = [];
  for (const name of (await unlessMissing(fs.readdir(folder))) ?? []) {
    const place = path.join(folder, name);
    const stat = name.includes('%2F') ? await unlessMissing(fs.stat(place)) : undefined;
    if (stat && stat.mtime < untouchedSince) found.push({ key: decodeURIComponent(name), place });
  }
  return found;
}

/** Cut off at any point, it is done again from the start: an object is replaced by itself. */
async function storeFile(storage: Storage, key: string, place: string, { seal, stored }: Telling): Promise<void> {
  await seal(key);
  const body = (await unlessMissing(fs.open(place, 'r')))?.createReadStream();
  if (!body) return;
  // A storage that is away may not have come to read it, and a file that is forgotten open ends the process.
  await storage.put(key, body).finally(() => body.destroy());
  await stored(key);
  await fs.rm(place, { force: true });
}
