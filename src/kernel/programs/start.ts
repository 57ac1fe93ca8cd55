import { once } from 'node:events';
import { constants } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import type { Identity } from './identity.ts';
import { boundLog, sizeOf, withLogOpen } from './log-file.ts';
import { markOf, type ProcessMark } from './process.ts';

export interface StartOptions {
  identity: Identity;
  program: string;
  args: string[];
  env: Record<string, string>;
  cwd: string;
  /** The file that its output is appended to. */
  log: string;
  /** Called with its pid, right after the start. */
  entered?: (pid: number) => Promise<void>;
}

export interface StartedProgram extends ProcessMark {
  /** Where its own output begins in the log. */
  logOffset: number;
}

/** Starts a program that outlives this process: in its own session, its output in a file. */
export async function startProgram({ identity, program, args, env, cwd, log, entered }: StartOptions): Promise<StartedProgram> {
  await boundLog(log);
  const logOffset = await sizeOf(log);
  const child = withLogOpen(log, identity.owner, (fd) =>
    identity.spawn(program, args, { cwd, env, stdio: ['ignore', fd, fd], detached: true }),
  );
  child.unref();
  if (child.pid === undefined) {
    const [error] = await once(child, 'error');
    throw error as Error;
  }
  child.on('error', () => {});
  await entered?.(child.pid);
  // A program that has ended already has no mark: it counts as gone.
  const mark = (await markOf(child.pid)) ?? { pid: child.pid, started: 'gone' };
  return { ...mark, logOffset };
}

/** Atomic: a reader after a kill finds the last complete record. */
export async function writeRecord(path: string, record: unknown): Promise<void> {
  const making = `${path}.making-${process.pid}`;
  await rm(making, { force: true });
  // A file that still exists here is not ours, and may be a link to somewhere else.
  await writeFile(making, JSON.stringify(record), { mode: 0o600, flag: 'wx' });
  await rename(making, path);
}

/**
 * Undefined: missing, invalid, or not written by us: the program's user may have put one there. Throws on a read error: the recorded
 * process must not be taken for gone.
 */
export async function readRecord<T>(path: string): Promise<T | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ELOOP') return undefined;
    throw error;
  });
  try {
    const found = await file?.stat();
    if (!file || !found || found.uid !== (process.getuid?.() ?? found.uid) || (found.mode & 0o022) !== 0) return undefined;
    return parseIfWhole(await file.readFile('utf8')) as T | undefined;
  } finally {
    await file?.close();
  }
}

function parseIfWhole(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
