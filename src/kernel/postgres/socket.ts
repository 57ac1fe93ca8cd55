import { createHash } from 'node:crypto';
import { chmod, chown, lstat, mkdir, mkdtemp, readFile, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Place } from './place.ts';
import { isPostmaster } from './postmaster.ts';

/** sockaddr_un holds 104 bytes on macOS and 108 on Linux, the final zero included. */
const longest = 103;
const name = '.s.PGSQL.5432';

const fits = (dir: string) => Buffer.byteLength(join(dir, name)) <= longest;

/**
 * Beside the cluster when the path is short enough: nobody else can put anything there, and no cleaner of /tmp comes by.
 * Otherwise a private directory below the temporary one. Whoever wants to connect reads the choice from postmaster.pid.
 */
export async function makeSocketDir(place: Place, owner: { uid: number; gid: number } | undefined): Promise<string> {
  if (fits(place.dir)) return place.dir;
  const base = fits(join(tmpdir(), 'quarterdeck-0123456789abcdef')) ? tmpdir() : '/tmp';
  const wanted = join(base, `quarterdeck-${createHash('sha256').update(place.cluster).digest('hex').slice(0, 16)}`);
  const uid = owner?.uid ?? process.getuid?.();
  try {
    await mkdir(wanted, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const found = await lstat(wanted);
    // The name can be guessed, so another user may have been here first; theirs is never used.
    const ours = found.isDirectory() && (found.uid === uid || found.uid === process.getuid?.());
    if (!ours) return give(await mkdtemp(join(base, 'quarterdeck-')), owner);
  }
  return give(wanted, owner);
}

async function give(dir: string, owner: { uid: number; gid: number } | undefined): Promise<string> {
  await chmod(dir, 0o700);
  if (owner) await chown(dir, owner.uid, owner.gid);
  return dir;
}

/** PostgreSQL refuses to start while the pid in this lock file lives, even when the number is somebody else's by now. */
export async function dropStaleSocketLock(place: Place, socketDir: string): Promise<void> {
  const lock = join(socketDir, `${name}.lock`);
  const pid = Number((await readFile(lock, 'utf8').catch(() => '')).split('\n')[0]);
  if (pid > 0 && !(await isPostmaster(pid, place.cluster))) await rm(lock, { force: true });
}

/** The directory below the temporary one goes with the server; an entry left in it by a kill stays for the next start. */
export async function dropSocketDir(place: Place, socketDir: string): Promise<void> {
  if (socketDir !== place.dir) await rmdir(socketDir).catch(() => {});
}
