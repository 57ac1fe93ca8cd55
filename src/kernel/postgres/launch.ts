import { once } from 'node:events';
import { chown } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OsLock } from '../data/os-lock.ts';
import { exitCodes, Stop } from '../errors.ts';
import { chooseIdentity, chownTree } from '../programs/identity.ts';
import { boundLog, lastLine, logSince, sizeOf, withLogOpen } from '../programs/log-file.ts';
import type { Log } from './events.ts';
import { initialize } from './initialize.ts';
import { dropLeftovers } from './leftovers.ts';
import { clusterState, type PostgresPaths } from './paths.ts';
import { dropStalePid, survivors } from './postmaster.ts';
import { stillUsed } from './postmaster-lock.ts';
import { serverArguments } from './settings.ts';
import { dropStaleSocketLock, makeServerSocketDir } from './socket.ts';
import { prepareSoftware } from './software.ts';

/** A server process that was started here; postmaster.pid decides whether it becomes the cluster's server. */
export interface LaunchedServer {
  pid: number | undefined;
  ended: boolean;
  /** Where its own output begins in the log. */
  logOffset: number;
}

/**
 * Starts a server, creating the cluster first if there is none. Safe beside another start: PostgreSQL lets one of them win. The server and
 * all its processes inherit the lock: it holds until the last of them is gone.
 */
export async function launch(
  paths: PostgresPaths,
  settings: Record<string, string> | undefined,
  log: Log,
  lock: OsLock | undefined,
): Promise<LaunchedServer> {
  try {
    return await launchLocked(paths, settings, log, lock);
  } finally {
    lock?.release();
  }
}

async function launchLocked(
  paths: PostgresPaths,
  settings: Record<string, string> | undefined,
  log: Log,
  lock: OsLock | undefined,
): Promise<LaunchedServer> {
  await dropLeftovers(paths.dir);
  const identity = await chooseIdentity({ name: 'PostgreSQL', dataDir: paths.dataDir, dir: paths.dir, data: paths.cluster });
  if (identity.owner) await chown(paths.dir, identity.owner.uid, identity.owner.gid);
  const software = await prepareSoftware(paths, identity);
  if ((await clusterState(paths)) === 'absent') {
    const began = performance.now();
    await initialize(paths, software, identity);
    log({ event: 'postgres.initialized', cluster: paths.cluster, ms: Math.round(performance.now() - began) });
  }
  await chownTree(identity, paths.cluster);

  const socketDir = await makeServerSocketDir(paths, identity.owner);
  await dropStalePid(paths);
  await dropStaleSocketLock(paths, socketDir);
  await boundLog(paths.log);
  const logOffset = await sizeOf(paths.log);

  // Its own session: Ctrl-C reaches every process of ours, and the server must outlive our shutdown.
  const child = withLogOpen(paths.log, identity.owner, (fd) =>
    identity.spawn(software.postgres, serverArguments(paths.cluster, socketDir, settings), {
      cwd: paths.dir,
      stdio: ['ignore', fd, fd, ...(lock ? [lock.fd] : [])],
      detached: true,
    }),
  );
  const launched: LaunchedServer = { pid: child.pid, ended: false, logOffset };
  child.once('exit', () => {
    launched.ended = true;
  });
  child.unref();
  if (child.pid === undefined) {
    const [error] = await once(child, 'error');
    throw new Stop(exitCodes.databaseUnreachable, `PostgreSQL could not be started: ${(error as Error).message}`, { cause: error });
  }
  return launched;
}

/** Finds out why a server ended before it answered. Returns when another start may help, throws when it cannot. */
export async function checkEarlyExit(paths: PostgresPaths, launched: LaunchedServer, waitedMs: number): Promise<void> {
  const output = await logSince(paths.log, launched.logOffset);
  // Another start was quicker; its server will be found.
  if (output.split('\n').some((line) => line.includes('lock file "') && line.includes('" already exists')) && waitedMs < 30_000) return;
  // The previous server was killed, and some of its processes are still busy with a statement and have not noticed.
  if (/pre-existing shared memory block/.test(output)) {
    if (waitedMs < 30_000) return void (await sleep(50));
    throw stillUsed(paths, await survivors(paths.cluster));
  }
  throw new Stop(exitCodes.dataDirectory, `PostgreSQL did not start on ${paths.cluster}: ${lastLine(output)}; more is in ${paths.log}`);
}
