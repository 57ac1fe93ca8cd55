import { spawn } from 'node:child_process';
import { closeSync, constants, fchownSync, fstatSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

// Node has no file locks. util-linux's `flock` locks a descriptor that it inherits. The lock belongs to the open file, not to the process:
// it holds while any process keeps that descriptor, across pid and ipc namespaces, and ends with the last of them.

export interface OsLock {
  fd: number;
  release(): void;
}

/** `none`: no `flock` program here, or a volume without locks. */
export type LockAttempt = { is: 'taken'; lock: OsLock } | { is: 'held' } | { is: 'none' };

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;

export async function tryOsLock(path: string): Promise<LockAttempt> {
  const fd = openLockFile(path);
  const outcome = await runFlock(fd).catch(() => 'none' as const);
  if (outcome === 'taken') return { is: 'taken', lock: { fd, release: onlyOnce(() => closeSync(fd)) } };
  closeSync(fd);
  return { is: outcome };
}

/** The lock file belongs to the owner of the directory, so that a start with sudo does not lock that user out. */
function openLockFile(path: string): number {
  const fd = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    const found = fstatSync(fd);
    if (!found.isFile() || found.nlink > 1) throw new Error(`${path} is no file of its own`);
    const { uid, gid } = statSync(dirname(path));
    if (process.getuid?.() === 0 && found.uid !== uid) fchownSync(fd, uid, gid);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Short options only, for BusyBox. A conflict is exit code 1 with no output. BusyBox also exits with 1 for errors, and prints them. */
function runFlock(fd: number): Promise<'taken' | 'held' | 'none'> {
  return new Promise((resolve, reject) => {
    const child = spawn('flock', ['-n', '-x', '3'], { stdio: ['ignore', 'ignore', 'pipe', fd] });
    let said = '';
    child.stderr?.on('data', (chunk) => (said += chunk));
    child.once('error', reject);
    child.once('close', (code) => resolve(code === 0 ? 'taken' : code === 1 && said === '' ? 'held' : 'none'));
  });
}

function onlyOnce(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}
