import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type OsLock, tryOsLock } from '../data/os-lock.ts';
import { exitCodes, Stop } from '../errors.ts';
import type { Log } from './events.ts';
import type { PostgresPaths } from './paths.ts';
import { survivors } from './postmaster.ts';

// PostgreSQL itself detects two servers on one cluster by process ids and shared memory, which does not work across namespaces. The
// postmaster and all its processes inherit the lock `postgres.lock`: while one of them lives, in any namespace, no other is started.

const pathOf = ({ dataDir }: PostgresPaths) => join(dataDir, 'postgres.lock');

const timeoutMs = { visible: 30_000, invisible: 2_000 };

/** For a server that is about to be started; undefined where there are no locks. Waits for processes of a killed server. */
export async function waitForLock(paths: PostgresPaths, log: Log): Promise<OsLock | undefined> {
  const began = performance.now();
  let isLogged = false;
  for (;;) {
    const attempt = await tryOsLock(pathOf(paths));
    if (attempt.is === 'taken') return attempt.lock;
    if (attempt.is === 'none') return undefined;
    const pids = await survivors(paths.cluster);
    if (!isLogged) log({ event: 'postgres.survivors', pids });
    isLogged = true;
    const waitedMs = performance.now() - began;
    if (waitedMs > timeoutMs.visible) throw stillUsed(paths, pids);
    if (pids.length === 0 && waitedMs > timeoutMs.invisible) throw usedInOtherNamespace(paths);
    await sleep(50);
  }
}

/**
 * An adopted server holds its lock already, unless an older release started it. Then this process holds the lock as long as it keeps that
 * server.
 */
export async function holdForAdopted(paths: PostgresPaths): Promise<OsLock | undefined> {
  const attempt = await tryOsLock(pathOf(paths));
  return attempt.is === 'taken' ? attempt.lock : undefined;
}

export const stillUsed = ({ cluster }: PostgresPaths, pids: readonly number[]): Stop =>
  new Stop(
    exitCodes.databaseUnreachable,
    `processes of a PostgreSQL that was killed still use ${cluster}${pids.length ? ` (pids ${pids.join(', ')})` : ''}; end them and start again`,
  );

const usedInOtherNamespace = ({ cluster }: PostgresPaths): Stop =>
  new Stop(
    exitCodes.alreadyRunning,
    `a PostgreSQL in another container or namespace still uses ${cluster}; stop that container, or give this server another directory with QUARTERDECK_DATA`,
  );
