import fs, { type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { type Body, MiB, pump } from './body.ts';
import { StorageFull, StorageUnavailable } from './errors.ts';
import { syncFairly, syncIfFree } from './fair-disk.ts';
import type { Listed } from './storage.ts';

/** Two of these for each body: many bodies at once must not add up. */
const bufferBytes = MiB / 8;
const syncEveryBytes = 8 * MiB;

/**
 * Starts writing back a file while more of it arrives. Otherwise dirty pages pile up until the first sync. That sync then waits for all of
 * them, and so does every other sync on that disk, the database's included.
 */
function writeBack(file: FileHandle) {
  let running: Promise<void> | undefined;
  let failure: unknown;
  return {
    start() {
      running ??= syncIfFree(() => file.datasync())
        ?.catch((error) => {
          failure = error;
        })
        .finally(() => {
          running = undefined;
        });
    },
    /** The kernel reports a failed sync once, may drop the pages, and calls the next sync a success: the whole file is in doubt. */
    async end() {
      await running;
      if (failure === undefined) return;
      await file.truncate(0);
      throw failure;
    },
  };
}

/** On a full disk the file is truncated to its old size: half a chunk is useless, and its space is needed. */
export async function writeFrom(
  file: FileHandle,
  offset: number,
  body: Body,
  whenBodyFails: 'drop' | 'keep',
  mayWrite?: () => Promise<void>,
): Promise<number> {
  let end = offset;
  let started = offset;
  const back = writeBack(file);
  const writeAll = async (bytes: Buffer) => {
    await mayWrite?.();
    // The last write before a disk is full may be a short one, which Node reports and does not continue.
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await file.write(bytes, done, bytes.length - done, end).catch(async (error) => {
        if (isFull(error)) await file.truncate(offset);
        throw error;
      });
      done += bytesWritten;
      end += bytesWritten;
    }
    if (end - started < syncEveryBytes) return;
    back.start();
    started = end;
  };
  await pump(body, () => bufferBytes, writeAll, whenBodyFails).finally(back.end);
  return end;
}

/**
 * The name of a directory survives a power cut only if its parent was synced afterwards. Another process may have just created it without
 * that sync, so every process syncs each one once.
 */
export function durableDirectories(root: string) {
  const synced = new Set<string>([root]);
  return async function ensure(directory: string): Promise<void> {
    if (synced.has(directory)) return;
    await fs.mkdir(directory, { recursive: true, mode: 0o700 });
    const parent = path.dirname(directory);
    await ensure(parent);
    await syncDirectory(parent);
    synced.add(directory);
  };
}

export async function syncDirectory(directory: string): Promise<void> {
  await using handle = await fs.open(directory, 'r');
  await syncFairly(() => handle.sync());
}

/** Files below a directory as keys, in the byte order of whole keys; directories that cannot contain a wanted key are not read. */
export async function* walk(directory: string, base: string, prefix: string, after: string): AsyncGenerator<Listed> {
  const entries = (await unlessMissing(fs.readdir(directory, { withFileTypes: true }))) ?? [];
  // "a.b" comes before "a/x", though "a" comes before "a.b": a directory sorts with its slash.
  const keys = entries.map((entry) => base + entry.name + (entry.isDirectory() ? '/' : '')).sort((a, b) => (a < b ? -1 : 1));
  for (const key of keys) {
    const filePath = path.join(directory, key.slice(base.length));
    if (key.startsWith('.')) continue;
    if (key.endsWith('/')) {
      const wanted = (key.startsWith(prefix) || prefix.startsWith(key)) && (key > after || after.startsWith(key));
      if (wanted) yield* walk(filePath, key, prefix, after);
    } else if (key.startsWith(prefix) && key > after) {
      const stat = await unlessMissing(fs.stat(filePath));
      if (stat) yield { key, size: stat.size, modifiedAt: stat.mtime };
    }
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? '';
export const isFull = (error: unknown) => ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(codeOf(error));

export const unlessMissing = <T>(answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((error) => {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return undefined;
    throw error;
  });

/** Converts disk errors to the errors of any storage. */
export async function asStorageErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isFull(error)) throw new StorageFull(error);
    if (['EIO', 'EROFS', 'ESTALE'].includes(codeOf(error))) throw new StorageUnavailable(error);
    throw error;
  }
}
