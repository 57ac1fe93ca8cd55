import { readFile, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeSocketDir } from '../programs/socket-dir.ts';
import type { PostgresPaths } from './paths.ts';
import { isPostmaster } from './postmaster.ts';

const name = '.s.PGSQL.5432';

/** Clients read the chosen directory from postmaster.pid. */
export const makeServerSocketDir = (paths: PostgresPaths, owner: { uid: number; gid: number } | undefined): Promise<string> =>
  makeSocketDir({ dir: paths.dir, name, of: paths.cluster, owner });

/** PostgreSQL refuses to start while the pid in this lock file is alive, even when another program has that pid by now. */
export async function dropStaleSocketLock(paths: PostgresPaths, socketDir: string): Promise<void> {
  const lock = join(socketDir, `${name}.lock`);
  const pid = Number((await readFile(lock, 'utf8').catch(() => '')).split('\n')[0]);
  if (pid > 0 && !(await isPostmaster(pid, paths.cluster))) await rm(lock, { force: true });
}

/** The directory below the temporary one is removed with the server; an entry left in it by a kill stays for the next start. */
export async function dropSocketDir(paths: PostgresPaths, socketDir: string): Promise<void> {
  if (socketDir !== paths.dir) await rmdir(socketDir).catch(() => {});
}
