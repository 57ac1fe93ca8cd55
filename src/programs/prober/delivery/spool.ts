import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../../kernel/log.ts';
import { decode, encode, recordAt, type Stamp, shift, type TimedBatch } from './spool-record.ts';

export interface SpoolOptions {
  readonly dir: string;
  readonly log: Logger;
  readonly stamp: () => Stamp;
  readonly mostBytes: number;
  readonly mostAgeMs: number;
  /** How much is given up at once when it is full. */
  readonly segmentBytes?: number;
}

/**
 * Batches that the server could not take, on the disk: a ring of files, the oldest given up first. What `append` has answered survives
 * the process and the machine; a record that was being written when either ended is found by its checksum and left out.
 */
export interface Spool {
  /** The newest number in it; 0 when it is empty. */
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

const suffix = '.batches';

export async function openSpool({ dir, log, stamp, mostBytes, mostAgeMs, segmentBytes = 2 ** 20 }: SpoolOptions): Promise<Spool> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const segments = await found(dir, log);
  let writing: FileHandle | undefined;
  /** Into the first segment, and what is in it. */
  let cursor = 0;
  let content = Buffer.alloc(0);
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = turn.then(work);
    turn = done.catch(() => {});
    return done;
  };

  const giveUp = async (segment: Segment) => {
    segments.splice(segments.indexOf(segment), 1);
    cursor = 0;
    content = Buffer.alloc(0);
    if (segments.length === 0) {
      await writing?.close();
      writing = undefined;
    }
    await rm(segment.path, { force: true });
  };
  const makeRoom = async (bytes: number) => {
    while (segments.length > 0 && segments.reduce((sum, each) => sum + each.bytes, bytes) > mostBytes) {
      log.warn({ upToBatch: segments[0]!.lastSeq }, 'the buffer is full; its oldest results are given up');
      await giveUp(segments[0]!);
    }
  };

  async function append(batch: TimedBatch) {
    const bytes = await encode({ ...batch, stamp: stamp() });
    await makeRoom(bytes.length);
    let last = segments.at(-1);
    if (writing === undefined || last === undefined || last.bytes + bytes.length > segmentBytes) {
      await writing?.close();
      last = { path: join(dir, `${String(batch.seq).padStart(16, '0')}${suffix}`), bytes: 0, lastSeq: batch.seq };
      writing = await open(last.path, 'w', 0o600);
      segments.push(last);
    }
    // At its place and not at the end: what a full disk made of the record before stands there.
    await writing.write(bytes, 0, bytes.length, last.bytes);
    await writing.datasync();
    last.bytes += bytes.length;
    last.lastSeq = batch.seq;
  }

  /** The first segment is read once for all its records, and again only when there are more of them. */
  const firstRecord = async (segment: Segment) => {
    if (content.length < segment.bytes) content = (await readFile(segment.path)).subarray(0, segment.bytes);
    return recordAt(content, cursor);
  };

  async function first(): Promise<TimedBatch | undefined> {
    for (let segment = segments[0]; segment !== undefined; segment = segments[0]) {
      const at = await firstRecord(segment);
      if (at === null) {
        await giveUp(segment);
        continue;
      }
      const record = await decode(content.subarray(at.offset, at.offset + at.length));
      const now = stamp();
      const added = shift(record.stamp, now);
      const results = record.results
        .map((each) => ({ ...each, at: each.at + added }))
        .filter(({ at: was }) => now.sinceBoot - was <= mostAgeMs);
      if (results.length > 0) return { seq: record.seq, degraded: record.degraded, results };
      cursor += at.length;
    }
    return undefined;
  }

  async function delivered(seq: number) {
    for (let segment = segments[0]; segment !== undefined; segment = segments[0]) {
      if (segment.lastSeq > seq) {
        for (let at = await firstRecord(segment); at !== null && at.seq <= seq; at = await firstRecord(segment)) cursor += at.length;
        return;
      }
      await giveUp(segment);
    }
  }

  return {
    get lastSeq() {
      return segments.at(-1)?.lastSeq ?? 0;
    },
    get isEmpty() {
      return segments.length === 0;
    },
    append: (batch) => inTurn(() => append(batch)),
    first: () => inTurn(first),
    delivered: (seq) => inTurn(() => delivered(seq)),
    clear: () => inTurn(() => delivered(Number.POSITIVE_INFINITY)),
    close: () =>
      inTurn(async () => {
        await writing?.close();
        writing = undefined;
      }),
  };
}

/** What an earlier process left behind, as far as it is whole. It is not written to again. */
async function found(dir: string, log: Logger): Promise<Segment[]> {
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
