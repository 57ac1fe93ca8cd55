import fs from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { LoopWatch } from '../../../../kernel/fairness/index.ts';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { CallerGone } from '../../../../kernel/http/plane.ts';
import { readFairly } from '../../../../kernel/storage/index.ts';

const KiB = 1024;

/**
 * A transfer alternates between two buffers. Every transfer has small ones. Large ones halve the CPU cost of a fast reader; they are
 * limited per organization and in total.
 */
export const bufferLimits = {
  smallBytes: 64 * KiB,
  largeBytes: 1024 * KiB,
  organizationBytes: 16 * 1024 * KiB,
  totalBytes: 64 * 1024 * KiB,
};

/** A reader of at least this many bytes per millisecond counts as fast. */
const fastBytesPerMs = 2 * KiB;

/** Pool of large buffers, limited per organization and in total. */
export interface Buffers {
  /** Undefined: the organization's limit or the total limit is reached. */
  borrowLarge(org: string): Buffer | undefined;
  /** `reusable`: no read or write uses it any more. */
  giveBack(org: string, buffer: Buffer, reusable: boolean): void;
  /** Bytes currently lent. */
  lent(): number;
}

export function makeBuffers(): Buffers {
  const spare: Buffer[] = [];
  const lent = new Map<string, number>();
  let total = 0;
  const change = (org: string, by: number) => {
    total += by;
    const now = (lent.get(org) ?? 0) + by;
    if (now > 0) lent.set(org, now);
    else lent.delete(org);
  };
  return {
    borrowLarge: (org) => {
      const { largeBytes, organizationBytes, totalBytes } = bufferLimits;
      if (total + largeBytes > totalBytes || (lent.get(org) ?? 0) + largeBytes > organizationBytes) return undefined;
      change(org, largeBytes);
      return spare.pop() ?? Buffer.allocUnsafeSlow(largeBytes);
    },
    giveBack: (org, buffer, reusable) => {
      change(org, -buffer.length);
      if (reusable && spare.length < 8) spare.push(buffer);
    },
    lent: () => total,
  };
}

/** The client's response, and the pool for large buffers. */
export interface Reader {
  response: ServerResponse;
  org: string;
  buffers: Buffers;
  watch: LoopWatch;
}

/**
 * Sends a stream. A file is read into two buffers alternately, one filling while the other is sent: half the CPU of a pipe. Other sources
 * (the spool, S3, an upstream) are sent in pieces of a small buffer's size while the next is read.
 */
export async function sendStream(stream: Readable, length: number, reader: Reader): Promise<void> {
  const { fd, start } = stream as fs.ReadStream & { fd?: number; start?: number };
  const { response } = reader;
  try {
    if (!(stream instanceof fs.ReadStream) || typeof fd !== 'number') await sendPieces(stream, reader);
    else await sendDoubleBuffered({ fd, start: start ?? 0, length }, reader);
  } finally {
    stream.destroy(); // closes the file, or the connection
  }
  response.end();
}

/** Rejects when the client disconnects. */
function untilGone(response: ServerResponse): Promise<never> {
  const gone = new Promise<never>((_, reject) => {
    const leave = guarded('registry.oci.send.leave', response, () => reject(new CallerGone()));
    if (response.destroyed) leave();
    else response.once('close', leave);
  });
  gone.catch(() => {});
  return gone;
}

/** A slow reader holds one piece being sent, and the stream's read-ahead. */
async function sendPieces(stream: Readable, { response, watch }: Reader): Promise<void> {
  const gone = untilGone(response);
  // A stream that waits for its source, such as a spool being filled, is destroyed when the client disconnects.
  response.once('close', () => stream.destroy());
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>)
      for (let at = 0; at < chunk.length; at += bufferLimits.smallBytes) {
        const rest = watch.takeTurn();
        if (rest) await rest;
        await Promise.race([write(response, chunk.subarray(at, at + bufferLimits.smallBytes)), gone]);
      }
  } catch (error) {
    if (response.destroyed) throw new CallerGone();
    response.destroy(); // the client must not take a partial body for a complete one
    throw error;
  }
}

/** A transfer starts with small buffers. A fast reader gets large ones while the pool has some; a reader that becomes slow loses them. */
async function sendDoubleBuffered(
  { fd, start, length }: { fd: number; start: number; length: number },
  { response, org, buffers, watch }: Reader,
) {
  const gone = untilGone(response);
  const turns = [makeTransferBuffer(buffers, org), makeTransferBuffer(buffers, org)];
  let sending = Promise.resolve(0);
  let reading: Promise<number> | undefined;
  let whole = false;
  try {
    let fast = false;
    for (let at = 0, turn = 0; at < length; turn ^= 1) {
      const buffer = turns[turn]!.bufferFor(length - at, fast);
      const from = at;
      reading = readFairly(async () => {
        if (response.destroyed) throw new CallerGone(); // the client left while this waited
        return read(fd, buffer, Math.min(buffer.length, length - from), start + from);
      });
      const count = await reading;
      reading = undefined;
      if (count === 0) throw new Error('a stored blob is shorter than its row says');
      fast = (await Promise.race([sending, gone])) >= fastBytesPerMs;
      const rest = watch.takeTurn();
      if (rest) await rest;
      sending = write(response, count === buffer.length ? buffer : buffer.subarray(0, count));
      sending.catch(() => {});
      at += count;
    }
    await Promise.race([sending, gone]);
    whole = true;
  } finally {
    await reading?.catch(() => {}); // the buffer and the file stay until the read has ended
    // After a disconnect a write may still use the buffers, so they are not reused.
    for (const turn of turns) turn.end(whole);
  }
}

/** One of a transfer's two buffers, small or large. It changes only while no read or write uses it. */
function makeTransferBuffer(buffers: Buffers, org: string) {
  let small: Buffer | undefined;
  let large: Buffer | undefined;
  const dropLarge = () => {
    if (large) buffers.giveBack(org, large, true);
    large = undefined;
  };
  return {
    bufferFor: (left: number, fast: boolean): Buffer => {
      if (!fast) dropLarge();
      else if (left > bufferLimits.smallBytes) large ??= buffers.borrowLarge(org);
      if (large) {
        small = undefined;
        return large;
      }
      small ??= Buffer.allocUnsafeSlow(Math.min(bufferLimits.smallBytes, left));
      return small;
    },
    end: (whole: boolean) => {
      if (large) buffers.giveBack(org, large, whole);
      large = undefined;
    },
  };
}

const read = (fd: number, buffer: Buffer, length: number, position: number) =>
  new Promise<number>((resolve, reject) =>
    fs.read(fd, buffer, 0, length, position, (error, count) => (error ? reject(error) : resolve(count))),
  );

/** Resolves with the rate in bytes per millisecond. A write fails only because the client left, and may report it before `close`. */
const write = (response: ServerResponse, bytes: Buffer) =>
  new Promise<number>((resolve, reject) => {
    const begun = performance.now();
    const tell = (error?: Error | null) => (error ? reject(new CallerGone()) : resolve(bytes.length / (performance.now() - begun)));
    response.write(bytes, guarded('registry.oci.send.written', response, tell));
  });
