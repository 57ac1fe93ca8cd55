import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const current = 'quarterdeck.log';
const lastRotated = 'quarterdeck.1.log';
const maxPiece = 1024 * 1024;

/** How far the current file was read. */
export interface LogEnd {
  inode: number;
  offset: number;
  /** Half a line at the end of it: still being written, or left by a server that was killed. */
  half?: string;
}

/** Every line, the oldest file first. Undefined: there is no log. */
export async function readLog(dir: string, onLine: (line: string) => void): Promise<LogEnd | undefined> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => /^quarterdeck\.(\d\.)?log$/.test(name)).sort(newestLast);
  if (!names.length) return undefined;
  let end: LogEnd = { inode: 0, offset: 0 };
  for (const name of names) {
    const file = await open(join(dir, name)).catch(() => undefined);
    if (!file) continue; // rotated away meanwhile
    try {
      const { ino, size } = await file.stat();
      // Up to the size of this moment: `follow` goes on from there.
      const { offset, rest } = await readLines(file, { offset: 0, rest: noBytes }, size, onLine);
      if (name === current) end = { inode: ino, offset: offset - rest.length, ...(rest.length ? { half: rest.toString('utf8') } : {}) };
      else if (rest.length) onLine(rest.toString('utf8'));
    } finally {
      await file.close();
    }
  }
  return end;
}

const ageOf = (name: string) => Number(/\.(\d)\./.exec(name)?.[1] ?? 0);
const newestLast = (a: string, b: string) => ageOf(b) - ageOf(a);

const pollMs = 250;

/** New lines until the process ends; after a rotation the last ones of the old file, then those of the new one. */
export async function follow(
  dir: string,
  { inode, offset }: LogEnd,
  onLine: (line: string) => unknown,
  signal?: AbortSignal,
): Promise<void> {
  let at: Reading = { offset, rest: noBytes };
  while (!signal?.aborted) {
    const file = await open(join(dir, current)).catch(() => undefined);
    try {
      const about = await file?.stat();
      if (file && about && (about.ino !== inode || about.size < at.offset)) {
        if (about.ino !== inode) await readRotated(dir, inode, at, onLine);
        [inode, at] = [about.ino, { offset: 0, rest: noBytes }];
      }
      if (file && about && about.size > at.offset) at = await readLines(file, at, about.size, onLine);
      else await sleep(pollMs, undefined, signal ? { signal } : {}).catch(() => {});
    } finally {
      await file?.close();
    }
  }
}

/** What was written between the last look and the rotation. */
async function readRotated(dir: string, inode: number, at: Reading, onLine: (line: string) => unknown): Promise<void> {
  const file = await open(join(dir, lastRotated)).catch(() => undefined);
  try {
    const about = await file?.stat();
    if (file && about?.ino === inode) await readLines(file, at, about.size, onLine);
  } finally {
    await file?.close();
  }
}

interface Reading {
  offset: number;
  /** The beginning of a line whose end is not read yet. */
  rest: Buffer;
}

const noBytes = Buffer.alloc(0);

/** Lines end with a line feed and with nothing else: readers for people also cut at signs that stand inside a tenant's text. */
async function readLines(file: FileHandle, from: Reading, size: number, onLine: (line: string) => unknown): Promise<Reading> {
  let { offset, rest } = from;
  const piece = Buffer.alloc(Math.min(maxPiece, Math.max(0, size - offset)));
  while (offset < size) {
    const { bytesRead } = await file.read(piece, 0, Math.min(piece.length, size - offset), offset);
    if (bytesRead === 0) break;
    offset += bytesRead;
    const bytes = Buffer.concat([rest, piece.subarray(0, bytesRead)]);
    const whole = bytes.lastIndexOf(10) + 1;
    rest = bytes.subarray(whole);
    for (const line of bytes.subarray(0, whole).toString('utf8').split('\n').slice(0, -1)) onLine(line);
  }
  return { offset, rest };
}
