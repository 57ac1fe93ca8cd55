import { promisify } from 'node:util';
import { crc32, gunzip, gzip } from 'node:zlib';
import type { Result } from '../../../protocols/agent.ts';

/** A result with the time at which it was, since the machine started, instead of an age that would grow stale on the disk. */
export type TimedResult = Omit<Result, 'ageMs'> & { readonly at: number };

export interface TimedBatch {
  readonly seq: number;
  readonly degraded: boolean;
  readonly results: readonly TimedResult[];
}

/** Which start of the machine `at` belongs to, and what the wall clock said then. */
export interface Stamp {
  readonly boot: string;
  readonly sinceBoot: number;
  readonly wall: number;
}

export type SpoolRecord = TimedBatch & { readonly stamp: Stamp };

/** Length, checksum and number before each record: what a crash has cut off, or a disk has spoilt, is found. */
export const headBytes = 16;
const maxBodyBytes = 16 * 2 ** 20;
const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** Packed: ten times as much time fits on the same disk. */
export async function encode(record: SpoolRecord): Promise<Buffer> {
  const body = await pack(JSON.stringify(record), { level: 1 });
  const bytes = Buffer.concat([Buffer.alloc(headBytes), body]);
  bytes.writeUInt32BE(body.length, 0);
  bytes.writeDoubleBE(record.seq, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(8)), 4);
  return bytes;
}

export interface RecordLocation {
  readonly seq: number;
  readonly offset: number;
  readonly length: number;
}

/** The record that begins here; null if none does, or not a whole one. */
export function recordAt(bytes: Buffer, offset: number): RecordLocation | null {
  if (offset + headBytes > bytes.length) return null;
  const bodyBytes = bytes.readUInt32BE(offset);
  const length = headBytes + bodyBytes;
  if (bodyBytes > maxBodyBytes || offset + length > bytes.length) return null;
  if (crc32(bytes.subarray(offset + 8, offset + length)) !== bytes.readUInt32BE(offset + 4)) return null;
  return { seq: bytes.readDoubleBE(offset + 8), offset, length };
}

export async function decode(bytes: Buffer): Promise<SpoolRecord> {
  return JSON.parse((await unpack(bytes.subarray(headBytes), { maxOutputLength: 4 * maxBodyBytes })).toString('utf8')) as SpoolRecord;
}

/**
 * How much has to be added to `at` to have it on the scale of this start of the machine. Within one start that is nothing, whatever the
 * wall clock did. After another start only the wall clock knows; set back, it would make results younger than they can be, so they are
 * at least as old as this start. A clock that counts from something else than the start (some containers) shows itself by running back.
 */
export function clockShift(stamp: Stamp, now: Stamp): number {
  if (stamp.boot !== '' && stamp.boot === now.boot && stamp.sinceBoot <= now.sinceBoot) return 0;
  const age = Math.max(now.wall - stamp.wall, stamp.boot === now.boot ? 0 : now.sinceBoot);
  return now.sinceBoot - Math.max(0, age) - stamp.sinceBoot;
}
