import { promisify } from 'node:util';
import { crc32, gunzip, gzip } from 'node:zlib';
import type { Result } from '../../../protocols/agent.ts';

/** A result with its time since boot instead of an age, which would be wrong once it has been on the disk. */
export type TimedResult = Omit<Result, 'ageMs'> & { readonly at: number };

export interface TimedBatch {
  readonly seq: number;
  readonly degraded: boolean;
  readonly results: readonly TimedResult[];
}

/** The boot that `at` belongs to, and the wall clock at that moment. */
export interface Stamp {
  readonly boot: string;
  readonly sinceBoot: number;
  readonly wall: number;
}

export type SpoolRecord = TimedBatch & { readonly stamp: Stamp };

/** Each record starts with its length, checksum and number, so that a truncated or damaged record is detected. */
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
 * What to add to `at` for the scale of this boot. Within one boot that is 0, whatever the wall clock did. After a reboot only the wall
 * clock relates the two. If it was set back, results would look too young, so they are at least as old as this boot. A clock that does not
 * count from boot (some containers) shows itself by running backwards.
 */
export function clockShift(stamp: Stamp, now: Stamp): number {
  if (stamp.boot !== '' && stamp.boot === now.boot && stamp.sinceBoot <= now.sinceBoot) return 0;
  const age = Math.max(now.wall - stamp.wall, stamp.boot === now.boot ? 0 : now.sinceBoot);
  return now.sinceBoot - Math.max(0, age) - stamp.sinceBoot;
}
