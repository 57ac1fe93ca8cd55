import { execFile } from 'node:child_process';
import { open, readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { isRunning, markOf, type ProcessMark } from '../programs/process.ts';

/** The server that holds a data directory, as stored in `server.holder`. */
export interface LockHolder extends ProcessMark {
  /** Random; one for each start of a server. */
  instance: string;
  host: string;
  /** Changes with every boot of the machine, and is the same in all its containers. */
  boot: string;
  /** Process ids are comparable only within one namespace. */
  pidNamespace: string;
  hasOsLock: boolean;
  /** Device and inode of the directory: a copy has others. Empty: unknown. */
  directory: string;
}

export async function describeSelf(known: Pick<LockHolder, 'instance' | 'hasOsLock' | 'directory'>): Promise<LockHolder> {
  const mark = (await markOf(process.pid)) ?? { pid: process.pid, started: '' };
  return { ...mark, ...known, host: hostname(), boot: await bootId(), pidNamespace: await pidNamespace() };
}

async function bootId(): Promise<string> {
  if (process.platform === 'linux') return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim();
  const { stdout } = await promisify(execFile)('sysctl', ['-n', 'kern.bootsessionuuid']).catch(() => ({ stdout: '' }));
  return stdout.trim();
}

/** macOS has a single namespace. */
const pidNamespace = (): Promise<string> =>
  process.platform === 'linux' ? readlink('/proc/self/ns/pid').catch(() => 'unknown') : Promise.resolve('');

export interface FoundHolder {
  holder: LockHolder;
  text: string;
  /** By the clock of the file system. */
  writtenAt: number;
}

/** Undefined: no file. An unreadable file is a holder without a name. */
export async function readHolder(path: string): Promise<FoundHolder | undefined> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!file) return undefined;
  try {
    const text = await file.readFile('utf8');
    return { holder: parseHolder(text), text, writtenAt: (await file.stat()).mtimeMs };
  } finally {
    await file.close();
  }
}

function parseHolder(text: string): LockHolder {
  const unknown = { instance: '', pid: 0, started: '', host: '', boot: '', pidNamespace: 'unknown', hasOsLock: false, directory: '' };
  try {
    return { ...unknown, ...(JSON.parse(text) as Partial<LockHolder>) };
  } catch {
    return unknown;
  }
}

/** Whether both holders see each other's process ids. */
export const isSameNamespace = (one: LockHolder, other: LockHolder): boolean =>
  one.boot !== '' && one.boot === other.boot && one.pidNamespace !== 'unknown' && one.pidNamespace === other.pidNamespace;

export async function hasEnded(holder: LockHolder): Promise<boolean> {
  const own = { ...holder, boot: await bootId(), pidNamespace: await pidNamespace() };
  return isSameNamespace(holder, own) && !(await isRunning(holder));
}
