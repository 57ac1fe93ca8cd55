import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { alreadyRunning } from './already-running.ts';
import { describeSelf, type FoundHolder, hasEnded, isSameNamespace, type LockHolder, readHolder } from './lock-holder.ts';
import { tryOsLock } from './os-lock.ts';

// One data directory with an embedded PostgreSQL has one server. Two mechanisms, both always in use:
//
//   server.lock    an OS lock (os-lock.ts). It decides between servers that share a kernel, whatever their namespaces.
//   server.holder  who holds the directory, rewritten every 5 s. It names the holder to a server that is refused, and decides where there
//                  are no OS locks: macOS without `flock`, a volume without locks, or locks that do not reach another machine.
//
// A holder that has not written for 30 s is gone. A holder that finds another name in the file has lost the directory and stops.

export interface ServerLock {
  /** Settles with a sentence if another server took the directory, which only a server without OS locks can do. */
  lost: Promise<string>;
  release(): void;
}

export interface LockOptions {
  /** Called when a start has to wait to see whether the last holder is still alive. */
  onWait?: (sentence: string) => void;
  /** Shorter in tests. */
  renewMs?: number;
  staleMs?: number;
}

interface LockRequest extends Required<LockOptions> {
  dataDir: string;
  path: string;
  own: LockHolder;
}

/** Throws an error that names the holder if there is one. */
export async function acquireServerLock(dataDir: string, options: LockOptions = {}): Promise<ServerLock> {
  const path = join(dataDir, 'server.holder');
  const attempt = await tryOsLock(join(dataDir, 'server.lock'));
  const lock = attempt.is === 'taken' ? attempt.lock : undefined;
  const { dev, ino } = await stat(dataDir);
  const own = await describeSelf({ instance: randomUUID(), hasOsLock: lock !== undefined, directory: `${dev} ${ino}` });
  if (attempt.is === 'held') throw alreadyRunning(dataDir, await namedHolder(path), own);
  const request: LockRequest = { onWait: () => {}, renewMs: 5_000, staleMs: 30_000, ...options, dataDir, path, own };
  try {
    await acquireRecord(request);
  } catch (error) {
    lock?.release();
    throw error;
  }
  const { lost, end } = renewRecord(request);
  return {
    lost,
    release() {
      end();
      lock?.release();
    },
  };
}

/** A holder takes the lock a moment before it writes its name. Until then the file may still name the previous holder. */
async function namedHolder(path: string): Promise<LockHolder | undefined> {
  for (const until = performance.now() + 1_000; ; await sleep(20)) {
    const found = await readHolder(path);
    if ((found && !(await hasEnded(found.holder))) || performance.now() > until) return found?.holder;
  }
}

const maxRounds = 20;

/**
 * Writes our record where there is none, or replaces that of a holder which is gone. The file is written in full and linked only if the
 * name is free.
 */
async function acquireRecord(request: LockRequest): Promise<void> {
  const { path, own } = request;
  const draftPath = `${path}.${own.instance}`;
  try {
    for (let round = 0; round < maxRounds; round++) {
      await writeFile(draftPath, JSON.stringify(own), { mode: 0o600 });
      if (await linkIfFree(draftPath, path)) return;
      const found = await readHolder(path);
      if (found && !(await isGone(request, found, (await stat(draftPath)).mtimeMs)))
        throw alreadyRunning(request.dataDir, found.holder, own);
      await removeStaleRecord(path, draftPath, found?.text);
    }
    throw alreadyRunning(request.dataDir, undefined, own);
  } finally {
    await rm(draftPath, { force: true });
  }
}

const linkIfFree = (from: string, to: string): Promise<boolean> =>
  link(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );

/** A snapshot or copy of a directory carries the record of the original's holder. Accepted only if both have OS locks on one machine. */
const isFromOriginalDirectory = (holder: LockHolder, own: LockHolder): boolean =>
  own.hasOsLock && holder.hasOsLock && holder.boot === own.boot && holder.directory !== '' && holder.directory !== own.directory;

/** A live holder writes twice in this time. */
const watchedRenewals = 2;

/**
 * `fileTime` is the present by this file system's clock, which may be another machine's. A holder on another machine that wrote within the
 * last 30 s is watched. It is alive if it writes again, and gone once the 30 s are over. A holder that wrote earlier is watched for 10 s,
 * since the clock may have been set forward a moment ago.
 */
async function isGone(request: LockRequest, found: FoundHolder, fileTime: number): Promise<boolean> {
  const { own, path, staleMs, renewMs, onWait } = request;
  if (isFromOriginalDirectory(found.holder, own)) return true;
  if (await hasEnded(found.holder)) return true;
  if (isSameNamespace(found.holder, own)) return false;
  // On one machine the holder's OS lock would have refused us.
  if (own.hasOsLock && found.holder.hasOsLock && found.holder.boot === own.boot) return true;
  const leftMs = Math.max(staleMs - Math.max(0, fileTime - found.writtenAt), renewMs * watchedRenewals);
  onWait(`a server on ${found.holder.host} used ${request.dataDir}; waiting ${Math.ceil(leftMs / 1_000)} s to see whether it still runs`);
  for (const until = performance.now() + leftMs; performance.now() < until; await sleep(Math.min(200, staleMs / 10))) {
    const now = await readHolder(path);
    if (!now) return true;
    if (now.writtenAt !== found.writtenAt || now.text !== found.text) return false;
  }
  return true;
}

/** Another start may have written its own record since ours was read; that record is put back. */
async function removeStaleRecord(path: string, draftPath: string, staleText: string | undefined): Promise<void> {
  const aside = `${draftPath}.stale`;
  try {
    await rename(path, aside);
    if ((await readHolder(aside))?.text !== staleText) await linkIfFree(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

function renewRecord({ path, own, dataDir, renewMs }: LockRequest): { lost: Promise<string>; end(): void } {
  const { promise: lost, resolve: tellLost } = Promise.withResolvers<string>();
  const text = JSON.stringify(own);
  const renew = async () => {
    const found = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? '' : undefined));
    if (isEnded || found === undefined) return; // a disk that does not answer now may do so the next time
    if (found !== '' && found !== text) {
      clearInterval(timer);
      return tellLost(`another server has taken ${dataDir}: ${(await readHolder(path))?.holder.host ?? 'its name is gone'}`);
    }
    // The same bytes in place: a reader never sees half of them.
    await writeFile(path, text, { mode: 0o600, flag: found === '' ? 'wx' : 'r+' }).catch(() => {});
  };
  let isEnded = false;
  const timer = setInterval(() => void renew(), renewMs).unref();
  return {
    lost,
    end() {
      isEnded = true;
      clearInterval(timer);
      if (readIfThere(path) === text) rmSync(path, { force: true });
    },
  };
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
