import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../../kernel/log.ts';
import { clockShift, decode, encode, recordAt, type Stamp, type TimedBatch } from './spool-record.ts';

export interface SpoolOptions {
  readonly dir: string;
  readonly log: Logger;
  readonly stamp: () => Stamp;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  /** Bytes that are dropped at once when the spool is full. */
  readonly segmentBytes?: number;
}

/**
 * Undelivered batches on the disk: a ring of files, of which the oldest is dropped first. A batch survives process and machine once
 * `append` has resolved. A record that was being written during a crash is detected by its checksum and skipped.
 */
export interface Spool {
  /** The newest batch number in it; 0 when it is empty. */
  readonly lastSeq: number;
  readonly isEmpty: boolean;
  append(batch: TimedBatch): Promise<void>;
  /** The oldest batch that is not yet too old, its times on the scale of this start of the machine. */
  first(): Promise<TimedBatch | undefined>;
  /** Everything up to this number has arrived. */
  delivered(seq: number): Promise<void>;
  clear(): Promise<void>;
  close(): Promise<void>;
}

interface Segment {
  readonly path: string;
  bytes: number;
  lastSeq: number;
}

/** The ring of files as it is now. */
interface Ring extends Required<SpoolOptions> {
  /** Oldest first. */
  readonly segments: Segment[];
  /** The newest segment, when this process has begun it. */
  writing: FileHandle | undefined;
  /** How far the first segment was delivered, and what is in it as far as it was read. */
  cursor: number;
  content: Buffer;
}

const suffix = '.batches';

export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const { dir, log } = options;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const segments = await findSegments(dir, log);
  const ring: Ring = { segmentBytes: 2 ** 20, ...options, segments, writing: undefined, cursor: 0, content: Buffer.alloc(0) };
  const inTurn = makeSerialQueue();
  return {
    get lastSeq() {
      return segments.at(-1)?.lastSeq ?? 0;
    },
    get isEmpty() {
      return segments.length === 0;
    },
    append: (batch) => inTurn(() => append(ring, batch)),
    first: () => inTurn(() => firstBatch(ring)),
    delivered: (seq) => inTurn(() => forgetUpTo(ring, seq)),
    clear: () => inTurn(() => forgetUpTo(ring, Number.POSITIVE_INFINITY)),
    close: () => inTurn(() => closeFile(ring)),
  };
}

/** Runs one call at a time, in order. */
function makeSerialQueue() {
  let turn: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const done = turn.then(work);
    turn = done.catch(() => {});
    return done;
  };
}

async function append(ring: Ring, batch: TimedBatch) {
  const bytes = await encode({ ...batch, stamp: ring.stamp() });
  await dropOldestUntilFits(ring, bytes.length);
  const { file, segment } = await fileFor(ring, batch.seq, bytes.length);
  // At its offset and not at the end: a record that a full disk truncated may be there.
  await file.write(bytes, 0, bytes.length, segment.bytes);
  await file.datasync();
  segment.bytes += bytes.length;
  segment.lastSeq = batch.seq;
}

async function dropOldestUntilFits(ring: Ring, bytes: number) {
  const { segments, maxBytes, log } = ring;
  while (segments.length > 0 && segments.reduce((sum, each) => sum + each.bytes, bytes) > maxBytes) {
    log.warn({ upToBatch: segments[0]!.lastSeq }, 'the buffer is full; its oldest results are given up');
    await dropSegment(ring, segments[0]!);
  }
}

/** The segment that is being written, or a new one when it is full. */
async function fileFor(ring: Ring, seq: number, bytes: number): Promise<{ file: FileHandle; segment: Segment }> {
  const last = ring.segments.at(-1);
  if (ring.writing !== undefined && last !== undefined && last.bytes + bytes <= ring.segmentBytes)
    return { file: ring.writing, segment: last };
  await ring.writing?.close();
  const segment = { path: join(ring.dir, `${String(seq).padStart(16, '0')}${suffix}`), bytes: 0, lastSeq: seq };
  const file = await open(segment.path, 'w', 0o600);
  ring.writing = file;
  ring.segments.push(segment);
  return { file, segment };
}

async function firstBatch(ring: Ring): Promise<TimedBatch | undefined> {
  const { segments, maxAgeMs } = ring;
  for (let segment = segments[0]; segment !== undefined; segment = segments[0]) {
    const at = await firstRecord(ring, segment);
    if (at === null) {
      await dropSegment(ring, segment);
      continue;
    }
    const record = await decode(ring.content.subarray(at.offset, at.offset + at.length));
    const now = ring.stamp();
    const added = clockShift(record.stamp, now);
    const results = record.results
      .map((each) => ({ ...each, at: each.at + added }))
      .filter(({ at: was }) => now.sinceBoot - was <= maxAgeMs);
    if (results.length > 0) return { seq: record.seq, degraded: record.degraded, results };
    ring.cursor += at.length;
  }
  return undefined;
}

async function forgetUpTo(ring: Ring, seq: number) {
  const { segments } = ring;
  for (let segment = segments[0]; segment !== undefined; segment = segments[0]) {
    if (segment.lastSeq > seq) {
      for (let at = await firstRecord(ring, segment); at !== null && at.seq <= seq; at = await firstRecord(ring, segment))
        ring.cursor += at.length;
      return;
    }
    await dropSegment(ring, segment);
  }
}

/** The first segment is read once for all its records, and again only when there are more of them. */
async function firstRecord(ring: Ring, segment: Segment) {
  if (ring.content.length < segment.bytes) ring.content = (await readFile(segment.path)).subarray(0, segment.bytes);
  return recordAt(ring.content, ring.cursor);
}

async function dropSegment(ring: Ring, segment: Segment) {
  ring.segments.splice(ring.segments.indexOf(segment), 1);
  ring.cursor = 0;
  ring.content = Buffer.alloc(0);
  if (ring.segments.length === 0) await closeFile(ring);
  await rm(segment.path, { force: true });
}

async function closeFile(ring: Ring) {
  await ring.writing?.close();
  ring.writing = undefined;
}

/** Segments of an earlier process, up to the last whole record. They are not appended to. */
async function findSegments(dir: string, log: Logger): Promise<Segment[]> {
  const segments: Segment[] = [];
  const names = (await readdir(dir)).filter((name) => name.endsWith(suffix)).sort();
  for (const name of names) {
    const path = join(dir, name);
    const bytes = await readFile(path);
    const segment = { path, bytes: 0, lastSeq: 0 };
    for (let at = recordAt(bytes, 0); at !== null; at = recordAt(bytes, segment.bytes)) {
      segment.bytes += at.length;
      segment.lastSeq = at.seq;
    }
    if (segment.bytes < bytes.length)
      log.warn({ file: name, bytes: bytes.length - segment.bytes }, 'the end of a buffer file is not whole; it is left out');
    if (segment.bytes > 0) segments.push(segment);
    else await rm(path, { force: true });
  }
  return segments;
}
