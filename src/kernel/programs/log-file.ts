import { closeSync, constants, fchownSync, fstatSync, openSync } from 'node:fs';
import { type FileHandle, open, rm, stat } from 'node:fs/promises';

const maxBytes = 4 * 1024 * 1024;

// The directory may belong to the program's user, while this process is root. An attacker with that user's rights must not redirect us to
// another file by a link, nor block us at a pipe.
const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/** Keeps a program's log and its predecessor small. The writer appends, so the file is truncated in place, never renamed. */
export async function boundLog(path: string, limit = maxBytes): Promise<void> {
  const file = await open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined);
  try {
    const found = await file?.stat();
    if (!file || !found?.isFile() || found.nlink > 1 || found.size <= limit) return;
    await keepLast(file, found, `${path}.1`);
    await file.truncate(0);
  } finally {
    await file?.close();
  }
}

/** Keeps the end of the file, however much it grew. */
async function keepLast(file: FileHandle, { size, uid, gid }: { size: number; uid: number; gid: number }, path: string): Promise<void> {
  const length = Math.min(size, maxBytes);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  await rm(path, { force: true });
  const kept = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    await kept.writeFile(buffer.subarray(0, bytesRead));
    if (process.getuid?.() === 0) await kept.chown(uid, gid);
  } finally {
    await kept.close();
  }
}

export const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    (found) => found.size,
    () => 0,
  );

/** Runs `use` with a descriptor for a child's output. The file belongs to the child's user, so that this user can start alone next time. */
export function withLogOpen<T>(path: string, owner: { uid: number; gid: number } | undefined, use: (fd: number) => T): T {
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    const { nlink } = fstatSync(fd);
    if (!fstatSync(fd).isFile() || nlink > 1) throw new Error(`${path} is no file of its own`);
    if (owner) fchownSync(fd, owner.uid, owner.gid);
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

/** The log since `offset`: the output of the program that just ended. */
export async function logSince(path: string, offset: number): Promise<string> {
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const length = Math.min(Math.max((await file.stat()).size - offset, 0), 64 * 1024);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** The line with the reason: the last FATAL or PANIC, else the last line (the dynamic linker prints no level). */
export function lastLine(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const fatal = lines.findLast((line) => /\b(FATAL|PANIC):/.test(line));
  return (fatal?.replace(/^.*?\b(FATAL|PANIC):\s*/, '') ?? lines.at(-1) ?? 'it said nothing').trim();
}
