import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { durableDirectories, isFull, syncDirectory, unlessMissing } from '../storage/disk.ts';
import { type Storage, StorageFull } from '../storage/index.ts';

/**
 * Many small bodies, appended to segment files: a batch costs one write and one fdatasync, however many bodies it has. With files as the
 * storage, a segment is a stored object from its first byte on. With S3 it is a local file until it is full or old enough; then it becomes
 * an object that every machine can read.
 *
 * A torn end is harmless: no row names bytes that were not acknowledged. After a failed write nothing more is added to that segment.
 */
export interface Spool {
  /** Returns the positions at once; `written` settles when the bytes are durable there, or rejects. One call at a time. */
  append(bodies: readonly Buffer[]): Appended;
  /** The next bodies go into a new segment. */
  rotate(): void;
  /** Whether `store` has something to close or to upload. */
  readonly isDue: boolean;
  /** The bytes of one body; undefined when they are gone, or on another machine. */
  read(place: SpoolPosition): Promise<Readable | undefined>;
  /**
   * Closes full or old segments, and uploads segments that are local files: also those of processes that are gone, if untouched for long.
   */
  store(telling: SegmentListener, untouchedSince: Date): Promise<void>;
  close(): Promise<void>;
}

export interface Appended {
  positions: SpoolPosition[];
  written: Promise<void>;
  /** The caller drops the bodies: the next ones overwrite them. Must be called before the next append. */
  takeBack(): Promise<void>;
}

/** The owner of the rows that hold positions. Both calls may come twice. */
export interface SegmentListener {
  /** Nothing is added to it any more. A batch in progress must fail from now on: its writer may have been suspended for long. */
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
  /** The prefix of keys. */
  prefix: string;
  /** A segment with this many bytes is full. */
  maxBytes?: number;
  /** A segment of this age is closed, full or not: other machines cannot read it until then. */
  mostAgeMs?: number;
}

interface Segment {
  key: string;
  filePath: string;
  isObject: boolean;
  file: FileHandle;
}

export const makeSpool = (options: SpoolOptions): Spool => new SegmentSpool(options);

class SegmentSpool implements Spool {
  readonly #storage: Storage;
  readonly #folder: string;
  readonly #prefix: string;
  readonly #maxBytes: number;
  readonly #maxAgeMs: number;
  readonly #ensureDirectory: (directory: string) => Promise<void>;
  /** The segment that the next bodies go into. */
  #current: Promise<Segment> | undefined;
  /** Of the current segment: its key, its length in bytes, and when it was created by the monotonic clock. */
  #key: string;
  #end = 0;
  #createdAt = 0;
  /** Segments that take no more bodies, with their files still open. */
  readonly #full: Segment[] = [];
  /** Paths of files that are not objects yet, by key: a failed upload is retried. */
  readonly #unstored = new Map<string, string>();

  constructor({ storage, folder, prefix, maxBytes = 64 * 2 ** 20, mostAgeMs = 60_000 }: SpoolOptions) {
    this.#storage = storage;
    this.#folder = folder;
    this.#prefix = prefix;
    this.#maxBytes = maxBytes;
    this.#maxAgeMs = mostAgeMs;
    this.#ensureDirectory = durableDirectories(path.dirname(folder));
    this.#key = nameSegment(prefix);
  }

  append(bodies: readonly Buffer[]): Appended {
    const segment = this.#segmentFor(performance.now());
    const offset = this.#end;
    const positions = positionsFrom(this.#key, offset, bodies);
    this.#end += bodies.reduce((sum, { length }) => sum + length, 0);
    const written = write(segment, bodies, offset).catch((error) => {
      if (this.#current === segment) this.rotate();
      throw isFull(error) ? new StorageFull(error) : error;
    });
    const takeBack = async () => {
      await written.catch(() => {});
      await this.#truncate(segment, offset);
    };
    return { positions, written, takeBack };
  }

  rotate(): void {
    const done = this.#current;
    this.#current = undefined;
    void done?.then(
      (segment) => this.#full.push(segment),
      () => {},
    );
  }

  get isDue(): boolean {
    return this.#full.length > 0 || this.#unstored.size > 0 || this.#isOld(performance.now());
  }

  read(place: SpoolPosition): Promise<Readable | undefined> {
    return readPosition(this.#storage, this.#folder, place);
  }

  async store(telling: SegmentListener, untouchedSince: Date): Promise<void> {
    if (this.#isOld(performance.now())) this.rotate();
    await new Promise(setImmediate); // a segment that was just finished is among the full ones now
    for (const { file, isObject, key, filePath } of this.#full.splice(0)) {
      await file.close();
      if (!isObject) this.#unstored.set(key, filePath);
    }
    for (const { key, place } of await abandonedIn(this.#folder, untouchedSince)) this.#unstored.set(key, place);
    await this.#storeFiles(telling);
  }

  async close(): Promise<void> {
    const last = await this.#current?.catch(() => undefined);
    this.#current = undefined;
    for (const { file } of [...this.#full.splice(0), ...(last ? [last] : [])]) await file.close();
  }

  #isOld(now: number): boolean {
    return this.#current !== undefined && now - this.#createdAt >= this.#maxAgeMs;
  }

  /** The current segment, or a new one if it is full, old or broken. */
  #segmentFor(now: number): Promise<Segment> {
    if (this.#current && (this.#end >= this.#maxBytes || this.#isOld(now))) this.rotate();
    if (!this.#current) {
      this.#key = nameSegment(this.#prefix);
      this.#end = 0;
      this.#createdAt = now;
      this.#current = this.#openSegment(this.#key);
    }
    return this.#current;
  }

  async #openSegment(key: string): Promise<Segment> {
    const object = await this.#storage.fileOf(key);
    if (!object) await this.#ensureDirectory(this.#folder);
    const place = object ?? fileOf(this.#folder, key);
    return { key, filePath: place, isObject: object !== undefined, file: await createDurable(place) };
  }

  /** Only the current segment is cut back: a closed one keeps its torn end. */
  async #truncate(segment: Promise<Segment>, offset: number): Promise<void> {
    if (this.#current !== segment) return;
    this.#end = offset;
    await segment.then(({ file }) => file.truncate(offset)).catch(() => this.rotate());
  }

  /** Tries every file; the first failure is thrown at the end. */
  async #storeFiles(telling: SegmentListener): Promise<void> {
    const failures: unknown[] = [];
    for (const [key, place] of this.#unstored)
      await storeFile(this.#storage, key, place, telling).then(
        () => this.#unstored.delete(key),
        (error) => failures.push(error),
      );
    if (failures.length > 0) throw failures[0];
  }
}

/**
 * On Linux each write to a segment is durable when it returns (open(2), O_DSYNC): the same as a following fdatasync, without another trip
 * to a thread. Elsewhere it is synced afterwards: macOS means less by that flag.
 */
const isDurable = process.platform === 'linux';
const openFlags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | (isDurable ? constants.O_DSYNC : 0);

const nameSegment = (prefix: string) => `${prefix}/${randomBytes(1).toString('hex')}/${randomBytes(15).toString('hex')}`;

/** Creates a file whose name survives a power cut. */
async function createDurable(place: string): Promise<FileHandle> {
  const file = await fs.open(place, openFlags, 0o600);
  await syncDirectory(path.dirname(place)).catch(async (error) => {
    await file.close(); // a leaked open file handle ends the process
    throw error;
  });
  return file;
}

/** Consecutive positions. */
function positionsFrom(key: string, offset: number, bodies: readonly Buffer[]): SpoolPosition[] {
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

/** A write may be short: the rest of these. */
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

async function readPosition(storage: Storage, folder: string, { key, offset, bytes }: SpoolPosition): Promise<Readable | undefined> {
  const file = await openUnstored(folder, key);
  if (file) return file.createReadStream({ start: offset, end: offset + bytes - 1 });
  return (await storage.open(key, { offset, length: bytes }))?.stream;
}

/** Files of processes that are gone, by their age. A writer that was only suspended finds its segment closed by `seal`. */
async function abandonedIn(folder: string, untouchedSince: Date): Promise<{ key: string; place: string }[]> {
  const found: { key: string; place: string }[] = [];
  for (const name of (await unlessMissing(fs.readdir(folder))) ?? []) {
    const place = path.join(folder, name);
    const stat = name.includes('%2F') ? await unlessMissing(fs.stat(place)) : undefined;
    if (stat && stat.mtime < untouchedSince) found.push({ key: decodeURIComponent(name), place });
  }
  return found;
}

/** Interrupted at any point, it starts over: the object is replaced by itself. */
async function storeFile(storage: Storage, key: string, place: string, { seal, stored }: SegmentListener): Promise<void> {
  await seal(key);
  const body = (await unlessMissing(fs.open(place, 'r')))?.createReadStream();
  if (!body) return;
  // An unavailable storage may not have started to read it, and a leaked open file handle ends the process.
  await storage.put(key, body).finally(() => body.destroy());
  await stored(key);
  await fs.rm(place, { force: true });
}
