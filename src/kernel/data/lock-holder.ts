import { execFile } from 'node:child_process';
import { open, readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { isRunning, markOf, type ProcessMark } from '../programs/process.ts';

/** Who holds a data directory, as it stands in `server.holder`. */
export interface LockHolder extends ProcessMark {
  /** Random: one start of one server. */
  instance: string;
  host: string;
  /** Changes with every start of the machine, and is the same in all its containers. */
  boot: string;
  /** Numbers of processes mean something only within one. */
  pidNamespace: string;
  hasOsLock: boolean;
  /** Device and inode of the directory: a copy has others. Empty: not said. */
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

/** macOS has one for all. */
const pidNamespace = (): Promise<string> =>
  process.platform === 'linux' ? readlink('/proc/self/ns/pid').catch(() => 'unknown') : Promise.resolve('');

export interface FoundHolder {
  holder: LockHolder;
  text: string;
  /** By the clock of its file system. */
  writtenAt: number;
}

/** Undefined: there is none. What cannot be read is a holder without a name. */
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

/** Whether the processes of the one are processes for the other too. */
export const isSameNamespace = (one: LockHolder, other: LockHolder): boolean =>
  one.boot !== '' && one.boot === other.boot && one.pidNamespace !== 'unknown' && one.pidNamespace === other.pidNamespace;

export async function hasEnded(holder: LockHolder): Promise<boolean> {
  const own = { ...holder, boot: await bootId(), pidNamespace: await pidNamespace() };
  return isSameNamespace(holder, own) && !(await isRunning(holder));
}
