import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { alreadyRunningHere } from '../data/already-running.ts';
import { notUsable } from '../data/directory.ts';
import { acquireServerLock, type LockOptions, type ServerLock } from '../data/server-lock.ts';
import { connectionTo } from './connection.ts';
import type { PostgresEvent } from './events.ts';
import { type EmbeddedPostgres, keepRunning } from './keep-running.ts';
import { acquireKeeperLock } from './keeper-lock.ts';
import { checkEarlyExit, type LaunchedServer, launch } from './launch.ts';
import { type PostgresPaths, preparePaths } from './paths.ts';
import { findPostmaster } from './postmaster.ts';
import { holdForAdopted, waitForLock } from './postmaster-lock.ts';
import { makeSilenceCheck } from './silence-check.ts';

export interface KeepOptions {
  dataDir: string;
  log?: (event: PostgresEvent) => void;
  /** More PostgreSQL settings, such as fsync=off in tests. */
  settings?: Record<string, string>;
  /** The lock of the data directory, if the caller holds it already, for longer than this PostgreSQL lives. */
  serverLock?: ServerLock;
  /** Options of the data directory's lock, if it is taken here. */
  locking?: LockOptions;
}

/** Locks a data directory, which is created if it is missing. */
export async function lockDataDirectory(dataDir: string, options?: LockOptions): Promise<ServerLock> {
  const paths = await preparePaths(dataDir);
  try {
    return await acquireServerLock(paths.dataDir, options);
  } catch (error) {
    throw notUsable(dataDir, error);
  }
}

/** Exactly one keeper for each data directory: finds, starts or adopts its server, and holds the keeper's lock from then on. */
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
  const paths = await preparePaths(options.dataDir);
  try {
    return await findOrStart(paths, options, released);
  } catch (error) {
    throw notUsable(options.dataDir, error);
  }
}

/**
 * Every round reads the current state and takes one step. So it does not matter which process started the server, what was killed when, or
 * whether another start runs at the same time: the lock alone decides.
 */
async function findOrStart(
  paths: PostgresPaths,
  { settings, log = () => {} }: KeepOptions,
  released: () => void,
): Promise<EmbeddedPostgres> {
  const began = performance.now();
  const elapsed = () => performance.now() - began;
  const checkTimeout = makeSilenceCheck(paths, log);
  let launched: LaunchedServer | undefined;

  for (;;) {
    const server = await findPostmaster(paths);
    if (server) {
      const connection = await connectionTo(paths, server);
      const attempt = connection && (await acquireKeeperLock(connection));
      if (attempt && 'heldBy' in attempt) throw alreadyRunningHere(attempt.heldBy);
      if (attempt && 'held' in attempt) {
        await ensureDatabase(attempt.held);
        const adopted = server.pid !== launched?.pid;
        log({ event: 'postgres.kept', pid: server.pid, adopted, ms: Math.round(elapsed()) });
        const lock = adopted ? await holdForAdopted(paths) : undefined;
        const ended = () => {
          lock?.release();
          released();
        };
        return keepRunning({ paths, pid: server.pid, connection, client: attempt.held, adopted, onEnded: ended }, log);
      }
      checkTimeout(server, attempt?.away);
    } else if (!launched || launched.ended) {
      if (launched) await checkEarlyExit(paths, launched, elapsed());
      const lock = await waitForLock(paths, log);
      launched = await launch(paths, settings, log, lock);
    }
    await sleep(5);
  }
}

/**
 * Roles of clusters may connect only to their own database, and may not create temporary tables in ours. `public` means every role but
 * ours. Only missing revokes are executed: each one adds a row to a shared catalog.
 */
const revokeFromPublic = `do $close$ declare name text; begin
  for name in select datname from pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba)))
               where datname <> 'quarterdeck' and grantee = 0 and privilege_type = 'CONNECT' loop
    execute format('revoke connect on database %I from public', name);
  end loop;
  for name in select datname from pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba)))
               where datname = 'quarterdeck' and grantee = 0 and privilege_type = 'TEMPORARY' loop
    execute format('revoke temporary on database %I from public', name);
  end loop;
end $close$`;

/** Under the keeper's lock, so no other process does it at the same time; after a kill in between, the next start does it. */
async function ensureDatabase(client: pg.Client): Promise<void> {
  try {
    const { rowCount } = await client.query(`select from pg_database where datname = 'quarterdeck'`);
    // Copied as files: page by page it would go through the buffers, and fill 12 MiB of them with pages that are not read again.
    if (rowCount === 0) await client.query('create database quarterdeck strategy file_copy');
    await client.query(revokeFromPublic);
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
}
