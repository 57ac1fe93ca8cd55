import fs from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { LoopWatch } from '../../../../kernel/fairness/index.ts';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { CallerGone } from '../../../../kernel/http/plane.ts';
import { readFairly } from '../../../../kernel/storage/index.ts';

const KiB = 1024;

/** A transfer reads into two buffers in turn. Small ones are everybody's; large ones, which cost a fast reader half the CPU, are few, and
 *  each organization has its share of them. */
export const bufferBounds = { small: 64 * KiB, large: 1024 * KiB, organization: 16 * 1024 * KiB, all: 64 * 1024 * KiB };

/** Bytes in a millisecond: whoever takes as many is a fast reader. */
const fastRate = 2 * KiB;

/** Large buffers for one organization at a time, and never more than all of them may have. */
export interface Buffers {
  /** Undefined: this organization has its share, or all are taken. */
  borrowLarge(org: string): Buffer | undefined;
  /** `reusable`: nobody reads or sends it any more. */
  giveBack(org: string, buffer: Buffer, reusable: boolean): void;
  /** What is lent, in bytes. */
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
      const { large, organization, all } = bufferBounds;
      if (total + large > all || (lent.get(org) ?? 0) + large > organization) return undefined;
      change(org, large);
      return spare.pop() ?? Buffer.allocUnsafeSlow(large);
    },
    giveBack: (org, buffer, reusable) => {
      change(org, -buffer.length);
      if (reusable && spare.length < 8) spare.push(buffer);
    },
    lent: () => total,
  };
}

/** Who reads, and where large buffers come from. */
export interface Reader {
  response: ServerResponse;
  org: string;
  buffers: Buffers;
  watch: LoopWatch;
}

/** Sends a stream's bytes. A file is read into two buffers in turn, one filling while the other is being sent: half the CPU of a pipe.
 *  Whatever else (the cache's spool, S3, an upstream) goes out in pieces of a small buffer's size, one at a time, while the next is read. */
export async function sendStream(stream: Readable, length: number, reader: Reader): Promise<void> {
  const { fd, start } = stream as fs.ReadStream & { fd?: number; start?: number };
  const { response } = reader;
  try {
    if (!(stream instanceof fs.ReadStream) || typeof fd !== 'number') await sendPieces(stream, reader);
    else await sendInTurns({ fd, start: start ?? 0, length }, reader);
  } finally {
    stream.destroy(); // closes the file, or the connection
  }
  response.end();
}

/** Rejects when the caller leaves. */
function untilGone(response: ServerResponse): Promise<never> {
  const gone = new Promise<never>((_, reject) => {
    const leave = guarded('registry.oci.send.leave', response, () => reject(new CallerGone()));
    if (response.destroyed) leave();
    else response.once('close', leave);
  });
  gone.catch(() => {});
  return gone;
}

/** A slow reader holds one piece that is being sent, and what the stream has read ahead. */
async function sendPieces(stream: Readable, { response, watch }: Reader): Promise<void> {
  const gone = untilGone(response);
  // One that waits for its source, such as a spool that is being filled, is told when nobody waits for it any more.
  response.once('close', () => stream.destroy());
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>)
      for (let at = 0; at < chunk.length; at += bufferBounds.small) {
        const rest = watch.takeTurn();
        if (rest) await rest;
        await Promise.race([write(response, chunk.subarray(at, at + bufferBounds.small)), gone]);
      }
  } catch (error) {
    if (response.destroyed) throw new CallerGone();
    response.destroy(); // what came so far must not look whole
    throw error;
  }
}

/** Whoever begins, or has become slow, has small buffers; one that takes them quickly gets large ones while there are some. */
async function sendInTurns(
  { fd, start, length }: { fd: number; start: number; length: number },
  { response, org, buffers, watch }: Reader,
) {
  const gone = untilGone(response);
  const turns = [makeTurn(buffers, org), makeTurn(buffers, org)];
  let sending = Promise.resolve(0);
  let reading: Promise<number> | undefined;
  let whole = false;
  try {
    let fast = false;
    for (let at = 0, turn = 0; at < length; turn ^= 1) {
      const buffer = turns[turn]!.bufferFor(length - at, fast);
      const from = at;
      reading = readFairly(async () => {
        if (response.destroyed) throw new CallerGone(); // while it waited
        return read(fd, buffer, Math.min(buffer.length, length - from), start + from);
      });
      const count = await reading;
      reading = undefined;
      if (count === 0) throw new Error('a stored blob is shorter than its row says');
      fast = (await Promise.race([sending, gone])) >= fastRate;
      const rest = watch.takeTurn();
      if (rest) await rest;
      sending = write(response, count === buffer.length ? buffer : buffer.subarray(0, count));
      sending.catch(() => {});
      at += count;
    }
    await Promise.race([sending, gone]);
    whole = true;
  } finally {
    await reading?.catch(() => {}); // a buffer and a file that are being read from stay until that has ended
    // A caller that left may have bytes of ours in the middle of a write: those buffers are nobody's any more.
    for (const turn of turns) turn.end(whole);
  }
}

/** One of a transfer's two buffers: small or large, as the reader deserves, and changed only while nobody reads or sends it. */
function makeTurn(buffers: Buffers, org: string) {
  let small: Buffer | undefined;
  let large: Buffer | undefined;
  const dropLarge = () => {
    if (large) buffers.giveBack(org, large, true);
    large = undefined;
  };
  return {
    bufferFor: (left: number, fast: boolean): Buffer => {
      if (!fast) dropLarge();
      else if (left > bufferBounds.small) large ??= buffers.borrowLarge(org);
      if (large) {
        small = undefined;
        return large;
      }
      small ??= Buffer.allocUnsafeSlow(Math.min(bufferBounds.small, left));
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

/** How many bytes were taken in a millisecond. A write fails for one reason, that the caller left, and may say so before `close` does. */
const write = (response: ServerResponse, bytes: Buffer) =>
  new Promise<number>((resolve, reject) => {
    const begun = performance.now();
    const tell = (error?: Error | null) => (error ? reject(new CallerGone()) : resolve(bytes.length / (performance.now() - begun)));
    response.write(bytes, guarded('registry.oci.send.written', response, tell));
  });
