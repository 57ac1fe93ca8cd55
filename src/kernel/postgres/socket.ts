import { readFile, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeSocketDir } from '../programs/socket-dir.ts';
import type { PostgresPaths } from './paths.ts';
import { isPostmaster } from './postmaster.ts';

const name = '.s.PGSQL.5432';

/** Whoever wants to connect reads the choice from postmaster.pid. */
export const makeServerSocketDir = (place: PostgresPaths, owner: { uid: number; gid: number } | undefined): Promise<string> =>
  makeSocketDir({ dir: place.dir, name, of: place.cluster, owner });

/** PostgreSQL refuses to start while the pid in this lock file lives, even when the number is somebody else's by now. */
export async function dropStaleSocketLock(place: PostgresPaths, socketDir: string): Promise<void> {
  const lock = join(socketDir, `${name}.lock`);
  const pid = Number((await readFile(lock, 'utf8').catch(() => '')).split('\n')[0]);
  if (pid > 0 && !(await isPostmaster(pid, place.cluster))) await rm(lock, { force: true });
}

/** The directory below the temporary one goes with the server; an entry left in it by a kill stays for the next start. */
export async function dropSocketDir(place: PostgresPaths, socketDir: string): Promise<void> {
  if (socketDir !== place.dir) await rmdir(socketDir).catch(() => {});
}
