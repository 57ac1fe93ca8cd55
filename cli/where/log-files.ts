import type { Stats } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const current = 'quarterdeck.log';

/** How far the current file was read. */
export interface LogEnd {
  inode: number;
  offset: number;
}

/** Every line, the oldest file first. Undefined: there is no log. */
export async function readLog(dir: string, onLine: (line: string) => void): Promise<LogEnd | undefined> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => /^quarterdeck\.(\d\.)?log$/.test(name)).sort(newestLast);
  if (!names.length) return undefined;
  let end: LogEnd = { inode: 0, offset: 0 };
  for (const name of names) {
    const file = await open(join(dir, name)).catch(() => undefined);
    if (!file) continue; // rotated away meanwhile
    const { ino, size } = await file.stat();
    // Up to the size of this moment: `follow` goes on from there.
    if (size > 0)
      for await (const line of createInterface({ input: file.createReadStream({ end: size - 1 }), crlfDelay: Number.POSITIVE_INFINITY }))
        onLine(line);
    else await file.close();
    if (name === current) end = { inode: ino, offset: size };
  }
  return end;
}

const ageOf = (name: string) => Number(/\.(\d)\./.exec(name)?.[1] ?? 0);
const newestLast = (a: string, b: string) => ageOf(b) - ageOf(a);

const pollMs = 250;

/** New lines until the process ends; after a rotation those of the new file. */
export async function follow(
  dir: string,
  { inode, offset }: LogEnd,
  onLine: (line: string) => unknown,
  signal?: AbortSignal,
): Promise<void> {
  let rest = Buffer.alloc(0); // the beginning of a line whose end is not written yet
  const path = join(dir, current);
  while (!signal?.aborted) {
    const about: Stats | undefined = await stat(path).catch(() => undefined);
    if (about && (about.ino !== inode || about.size < offset)) [inode, offset, rest] = [about.ino, 0, Buffer.alloc(0)];
    if (about && about.size > offset) {
      const piece = await readPiece(path, offset, about.size - offset);
      offset += piece.length;
      const bytes = Buffer.concat([rest, piece]);
      const whole = bytes.lastIndexOf(10) + 1;
      rest = bytes.subarray(whole);
      for (const line of bytes.subarray(0, whole).toString('utf8').split('\n').slice(0, -1)) onLine(line);
    } else await sleep(pollMs, undefined, signal ? { signal } : {}).catch(() => {});
  }
}

const maxPiece = 1024 * 1024;

async function readPiece(path: string, from: number, length: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const buffer = Buffer.alloc(Math.min(length, maxPiece));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
