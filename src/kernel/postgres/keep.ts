import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { alreadyRunningHere } from '../data/already-running.ts';
import { notUsable } from '../data/directory.ts';
import { type LockOptions, type ServerLock, takeServerLock } from '../data/server-lock.ts';
import { connectionTo } from './connection.ts';
import type { PostgresEvent } from './events.ts';
import { type EmbeddedPostgres, keepRunning } from './keep-running.ts';
import { takeLock } from './keeper-lock.ts';
import { judgeEnd, type Launched, launch } from './launch.ts';
import { type PostgresPaths, preparePaths } from './paths.ts';
import { findPostmaster } from './postmaster.ts';
import { holdForAdopted, waitForLock } from './postmaster-lock.ts';
import { timeouts } from './timeouts.ts';

export interface KeepOptions {
  dataDir: string;
  log?: (event: PostgresEvent) => void;
  /** More PostgreSQL settings, such as fsync=off in tests. */
  settings?: Record<string, string>;
  /** Of the data directory, where the caller holds it already, and longer than this PostgreSQL lives. */
  serverLock?: ServerLock;
  /** Of the data directory, where it is taken here. */
  locking?: LockOptions;
}

/** The lock of a data directory, which is made if it is missing. */
export async function lockDataDirectory(dataDir: string, options?: LockOptions): Promise<ServerLock> {
  const place = await preparePaths(dataDir);
  try {
    return await takeServerLock(place.dataDir, options);
  } catch (error) {
    throw notUsable(dataDir, error);
  }
}

/** Exactly one keeper a data directory: finds, starts or adopts its server, and holds the keeper's lock from then on. */
export async function keepPostgres(options: KeepOptions): Promise<EmbeddedPostgres> {
  const { dataDir, serverLock, locking } = options;
  if (serverLock) return keepLocked(options);
  const lock = await lockDataDirectory(dataDir, locking);
  try {
    return await keepLocked(options, lock.release);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function keepLocked(options: KeepOptions, released = () => {}): Promise<EmbeddedPostgres> {
  const place = await preparePaths(options.dataDir);
  try {
    return await findOrStart(place, options, released);
  } catch (error) {
    throw notUsable(options.dataDir, error);
  }
}

/**
 * Every turn looks at what is there now and takes one step, so it does not matter who started the server, what was killed when,
 * or whether another start is doing the same at this moment: the lock decides, and only the lock.
 */
async function findOrStart(
  place: PostgresPaths,
  { settings, log = () => {} }: KeepOptions,
  released: () => void,
): Promise<EmbeddedPostgres> {
  const began = performance.now();
  const elapsed = () => performance.now() - began;
  const beTolerant = timeouts(place, log);
  let launched: Launched | undefined;

  for (;;) {
    const server = await findPostmaster(place);
    if (server) {
      const connection = await connectionTo(place, server);
      const attempt = connection && (await takeLock(connection));
      if (attempt && 'heldBy' in attempt) throw alreadyRunningHere(attempt.heldBy);
      if (attempt && 'held' in attempt) {
        await ensureDatabase(attempt.held);
        const adopted = server.pid !== launched?.pid;
        log({ event: 'postgres.kept', pid: server.pid, adopted, ms: Math.round(elapsed()) });
        const lock = adopted ? await holdForAdopted(place) : undefined;
        const ended = () => {
          lock?.release();
          released();
        };
        return keepRunning({ place, pid: server.pid, connection, client: attempt.held, adopted, ended }, log);
      }
      beTolerant(server, attempt?.away);
    } else if (!launched || launched.ended) {
      if (launched) await judgeEnd(place, launched, elapsed());
      const lock = await waitForLock(place, log);
      launched = await launch(place, settings, log, lock);
    }
    await sleep(5);
  }
}

/**
 * Roles of clusters reach the one database that they have something in, and make no temporary tables there. Public is whoever is not our own role.
 * Only what is not so yet is changed: each change is a row more in a catalog that everybody reads.
 */
const closeToOthers = `do $close$ declare name text; begin
  for name in select datname from pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba)))
               where datname <> 'quarterdeck' and grantee = 0 and privilege_type = 'CONNECT' loop
    execute format('revoke connect on database %I from public', name);
  end loop;
  for name in select datname from pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba)))
               where datname = 'quarterdeck' and grantee = 0 and privilege_type = 'TEMPORARY' loop
    execute format('revoke temporary on database %I from public', name);
  end loop;
end $close$`;

/** Under the keeper's lock, so nobody else does it at the same time; after a kill in between, the next start does it. */
async function ensureDatabase(client: pg.Client): Promise<void> {
  try {
    const { rowCount } = await client.query(`select from pg_database where datname = 'quarterdeck'`);
    // Copied as files: page by page it would go through the buffers, and fill 12 MiB of them with what nobody reads again.
    if (rowCount === 0) await client.query('create database quarterdeck strategy file_copy');
    await client.query(closeToOthers);
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
}
