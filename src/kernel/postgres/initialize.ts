import { randomBytes } from 'node:crypto';
import { chown, open, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exitCodes, Stop } from '../errors.ts';
import { forInitdb, type Identity } from '../programs/identity.ts';
import { lastLine } from '../programs/log-file.ts';
import { draftName } from './leftovers.ts';
import type { PostgresPaths } from './paths.ts';
import type { Software } from './software.ts';

/** The only role; it owns everything. */
export const role = 'quarterdeck';

/**
 * Creates the cluster beside its final name, syncs it to disk, and only then renames it. A kill at any moment leaves either nothing of that
 * name or a whole cluster with its password. Two concurrent starts both create one, and the first rename wins.
 */
export async function initialize(paths: PostgresPaths, software: Software, identity: Identity): Promise<void> {
  const draftDir = draftName(paths.cluster);
  const password = `${draftDir}.password`;
  const initdbIdentity = await forInitdb(identity);
  try {
    await writeFile(password, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' });
    if (identity.owner) await chown(password, identity.owner.uid, identity.owner.gid);
    await initdb(paths, software, initdbIdentity, [
      ...['-D', draftDir, '-U', role, '--pwfile', password, '--auth', 'scram-sha-256', '--encoding', 'UTF8', '--data-checksums'],
      // PostgreSQL's own C.UTF-8: no index depends on the C library, whose sort order changes between systems.
      ...['--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8', '--locale', 'C', '--no-sync', '--no-instructions'],
    ]);
    const hba = join(draftDir, 'pg_hba.conf');
    await writeFile(hba, 'local all all scram-sha-256\n');
    await rename(password, join(draftDir, 'quarterdeck.password'));
    // One sync of everything at the end: a fraction of the time of initdb's own syncing of each step.
    await initdb(paths, software, initdbIdentity, ['-D', draftDir, '--sync-only']);
    await renameIfFree(draftDir, paths.cluster);
    await syncDirectory(paths.dir);
  } finally {
    await rm(draftDir, { recursive: true, force: true });
    await rm(password, { force: true });
  }
}

async function renameIfFree(making: string, cluster: string): Promise<void> {
  await rename(making, cluster).catch((error: NodeJS.ErrnoException) => {
    // The other start's cluster has the name and is equally valid.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
}

async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function initdb(paths: PostgresPaths, software: Software, identity: Identity, args: string[]): Promise<void> {
  const child = identity.spawn(software.initdb, args, { cwd: paths.dir, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr?.on('data', (chunk) => (said += chunk));
  const failure = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code) => resolve(code === 0 ? undefined : lastLine(withoutCleanupLines(said))));
  });
  if (failure === undefined) return;
  throw new Stop(exitCodes.dataDirectory, `PostgreSQL could not make its data directory in ${paths.dir}: ${failure}`);
}

/** Its last lines are about cleaning up; the reason precedes them. */
const withoutCleanupLines = (said: string): string =>
  said
    .split('\n')
    .filter((line) => !line.startsWith('initdb: removing ') && !line.startsWith('child process exited '))
    .map((line) => line.replace(/^initdb: (error: )?/, ''))
    .join('\n');
