import { once } from 'node:events';
import { chown } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OsLock } from '../data/os-lock.ts';
import { exitCodes, Stop } from '../errors.ts';
import { chooseIdentity, giveTo } from '../programs/identity.ts';
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

/** A server process that we started; whether it becomes the cluster's server is up to postmaster.pid. */
export interface Launched {
  pid: number | undefined;
  ended: boolean;
  /** Where in the log its own words begin. */
  logOffset: number;
}

/**
 * Starts a server, making the cluster first if there is none. Safe beside another start: PostgreSQL lets one of them win. The lock is
 * handed to the server and all its processes: it holds until the last of them is gone.
 */
export async function launch(
  place: PostgresPaths,
  settings: Record<string, string> | undefined,
  log: Log,
  lock: OsLock | undefined,
): Promise<Launched> {
  try {
    return await launchLocked(place, settings, log, lock);
  } finally {
    lock?.release();
  }
}

async function launchLocked(
  place: PostgresPaths,
  settings: Record<string, string> | undefined,
  log: Log,
  lock: OsLock | undefined,
): Promise<Launched> {
  await dropLeftovers(place.dir);
  const identity = await chooseIdentity({ name: 'PostgreSQL', dataDir: place.dataDir, dir: place.dir, data: place.cluster });
  if (identity.owner) await chown(place.dir, identity.owner.uid, identity.owner.gid);
  const software = await prepareSoftware(place, identity);
  if ((await clusterState(place)) === 'absent') {
    const began = performance.now();
    await initialize(place, software, identity);
    log({ event: 'postgres.initialized', cluster: place.cluster, ms: Math.round(performance.now() - began) });
  }
  await giveTo(identity, place.cluster);

  const socketDir = await makeServerSocketDir(place, identity.owner);
  await dropStalePid(place);
  await dropStaleSocketLock(place, socketDir);
  await boundLog(place.log);
  const logOffset = await sizeOf(place.log);

  // Its own session: Ctrl-C goes to everything in ours, and the server must outlive our draining.
  const child = withLogOpen(place.log, identity.owner, (fd) =>
    identity.spawn(software.postgres, serverArguments(place.cluster, socketDir, settings), {
      cwd: place.dir,
      stdio: ['ignore', fd, fd, ...(lock ? [lock.fd] : [])],
      detached: true,
    }),
  );
  const launched: Launched = { pid: child.pid, ended: false, logOffset };
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

/** Looks at why a server ended before it answered. Returns when starting again may help, throws when it cannot. */
export async function judgeEnd(place: PostgresPaths, launched: Launched, waitedMs: number): Promise<void> {
  const said = await logSince(place.log, launched.logOffset);
  // Another start was quicker; its server will be found.
  if (said.split('\n').some((line) => line.includes('lock file "') && line.includes('" already exists')) && waitedMs < 30_000) return;
  // The previous server was killed, and some of its processes are still busy with a statement and have not noticed.
  if (/pre-existing shared memory block/.test(said)) {
    if (waitedMs < 30_000) return void (await sleep(50));
    throw stillUsed(place, await survivors(place.cluster));
  }
  throw new Stop(exitCodes.dataDirectory, `PostgreSQL did not start on ${place.cluster}: ${lastLine(said)}; more is in ${place.log}`);
}
