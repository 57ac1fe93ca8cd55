import { closeSync, fchownSync, openSync } from 'node:fs';
import { copyFile, open, stat, truncate } from 'node:fs/promises';

const limitBytes = 4 * 1024 * 1024;

/** Keeps a program's log and its predecessor small. The writer appends, so the file is emptied in place, never renamed away. */
export async function boundLog(path: string, limit = limitBytes): Promise<void> {
  const size = await sizeOf(path);
  if (size <= limit) return;
  await copyFile(path, `${path}.1`);
  await truncate(path, 0);
}

export const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    (found) => found.size,
    () => 0,
  );

/** Runs `use` with a descriptor that a child can write its output to; the file is its owner's, so that he can start alone next time. */
export function withLogOpen<T>(path: string, owner: { uid: number; gid: number } | undefined, use: (fd: number) => T): T {
  const fd = openSync(path, 'a', 0o600);
  try {
    if (owner) fchownSync(fd, owner.uid, owner.gid);
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

/** What was written since `offset`: what the program that just ended had to say. */
export async function logSince(path: string, offset: number): Promise<string> {
  const file = await open(path, 'r');
  try {
    const length = Math.min(Math.max((await file.stat()).size - offset, 0), 64 * 1024);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** The line that says why: the last FATAL or PANIC, else the last line at all (the dynamic linker speaks without a level). */
export function lastWord(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const fatal = lines.findLast((line) => /\b(FATAL|PANIC):/.test(line));
  return (fatal?.replace(/^.*?\b(FATAL|PANIC):\s*/, '') ?? lines.at(-1) ?? 'it said nothing').trim();
}
