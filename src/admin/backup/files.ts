import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream, rmSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { syncDirectory } from '../../kernel/storage/disk.ts';

export interface Written {
  bytes: number;
  sha256: string;
}

type Chunks = AsyncIterable<Buffer> | Iterable<Buffer>;

/** On disk when it returns; refuses to write what is there already. */
export async function writeHashed(path: string, source: Chunks): Promise<Written & { lines: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  let lines = 0;
  async function* counted() {
    for await (const chunk of source) {
      hash.update(chunk);
      bytes += chunk.length;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
      yield chunk;
    }
  }
  await pipeline(counted, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }));
  return { bytes, sha256: hash.digest('hex'), lines };
}

const maxBufferBytes = 1024 * 1024;

/** What stands there now, read again; undefined when nothing does. Most tables are small: for those a stream with its buffers is dear. */
export async function hashFile(path: string): Promise<Written | undefined> {
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    await using file = await open(path);
    const buffer = Buffer.allocUnsafe(Math.min((await file.stat()).size + 1, maxBufferBytes));
    for (;;) {
      const { bytesRead } = await file.read(buffer);
      if (!bytesRead) break;
      hash.update(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
  return { bytes, sha256: hash.digest('hex') };
}

/**
 * Lets `fill` write into a temporary directory and renames it at the end: a directory with the final name is always a whole backup. A
 * killed run leaves a `.partial-` directory, which the next run to the same target removes.
 */
export async function makeDirectory<T>(target: string, fill: (directory: string) => Promise<T>): Promise<T> {
  const parent = dirname(target);
  const making = `${target}.partial-${process.pid}-${randomBytes(3).toString('hex')}`;
  // Ctrl-C ends the process while the copy is under way: then there is no time left for more than this.
  const removeNow = () => rmSync(making, { recursive: true, force: true });
  process.once('exit', removeNow);
  try {
    await refuseTaken(target);
    await mkdir(parent, { recursive: true });
    await removeLeftovers(target);
    await mkdir(making, { mode: 0o700 });
    const result = await fill(making);
    await syncTree(making);
    await refuseTaken(target);
    await rename(making, target);
    await syncDirectory(parent);
    return result;
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    throw notWritable(target, error);
  } finally {
    process.off('exit', removeNow);
  }
}

async function refuseTaken(target: string) {
  const there = await stat(target).catch(() => undefined);
  if (there) throw new Stop(exitCodes.refused, `${target} exists already; name a new directory for each backup`);
}

async function removeLeftovers(target: string) {
  const half = new RegExp(`^${RegExp.escape(basename(target))}\\.partial-(\\d+)-[0-9a-f]{6}$`);
  for (const name of await readdir(dirname(target))) {
    const pid = half.exec(name)?.[1];
    if (pid && !isAlive(Number(pid))) await rm(join(dirname(target), name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Names of files are durable once their directory is. */
async function syncTree(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true }))
    if (entry.isDirectory()) await syncTree(join(directory, entry.name));
  await syncDirectory(directory);
}

function notWritable(target: string, error: unknown): unknown {
  const why = {
    ENOSPC: 'the disk is full',
    EDQUOT: 'the disk quota is used up',
    EACCES: 'this user may not write there',
    EPERM: 'this user may not write there',
    EROFS: 'it is on a read-only file system',
    ENOTDIR: 'a part of its path is not a directory',
  }[(error as NodeJS.ErrnoException)?.code ?? ''];
  return why
    ? new Stop(exitCodes.backup, `the backup cannot be written to ${target}: ${why}; name another place`, { cause: error })
    : error;
}

export const writeSmall = async (path: string, text: string): Promise<void> => {
  await using file = await open(path, 'wx', 0o600);
  await file.writeFile(text);
  await file.sync();
};
