import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { boundLog } from '../programs/log-file.ts';
import type { EmbeddedConnection } from './connection.ts';
import type { Log } from './events.ts';
import { acquireKeeperLock } from './keeper-lock.ts';
import type { PostgresPaths } from './paths.ts';
import { isPostmaster, shutDown } from './postmaster.ts';
import { dropSocketDir } from './socket.ts';

export interface EmbeddedPostgres {
  /** For the role that owns everything, in the database `quarterdeck`. */
  connection: EmbeddedConnection;
  /** The server was running already: left by a keeper that was killed. */
  adopted: boolean;
  pid: number;
  /** Shuts the server down; safe to call twice, and when it is gone already. */
  stop(): Promise<void>;
  /** Gives the server to the next keeper, and leaves it running. */
  leave(): Promise<void>;
  /** Settles only when the server ends, or another keeper takes it over, without a stop from here. */
  exited: Promise<{ reason: string }>;
}

export interface HeldServer {
  paths: PostgresPaths;
  pid: number;
  connection: EmbeddedConnection;
  /** The connection whose session holds the keeper's lock. */
  client: pg.Client;
  adopted: boolean;
  /** Called when the server has ended or belongs to another keeper. */
  onEnded: () => void;
}

/**
 * From the moment this process holds the lock until it stops: watches the lock's connection, and takes the lock again when only the
 * connection broke.
 */
export function keepRunning({ paths, pid, connection, client, adopted, onEnded }: HeldServer, log: Log): EmbeddedPostgres {
  const { promise: exited, resolve: resolveExited } = Promise.withResolvers<{ reason: string }>();
  const logTimer = setInterval(() => void boundLog(paths.log).catch(() => {}), 60_000).unref();
  let locked = client;
  let isOurs = true;
  let stopping: Promise<void> | undefined;

  const onLost = (reason: string) => {
    isOurs = false;
    clearInterval(logTimer);
    onEnded();
    resolveExited({ reason });
  };

  // The connection also ends when the server restarts its processes because one of them crashed; then this process stays the keeper.
  const regainLock = async (): Promise<void> => {
    while (!stopping && (await isPostmaster(pid, paths.cluster))) {
      const attempt = await acquireKeeperLock(connection).catch((error: Error) => ({ away: error }));
      if ('heldBy' in attempt) return onLost(`another Quarterdeck (pid ${attempt.heldBy}) has taken over the database`);
      if ('held' in attempt) {
        watch(attempt.held);
        return log({ event: 'postgres.lock-regained', pid });
      }
      await sleep(50);
    }
    if (!stopping) onLost(`PostgreSQL (pid ${pid}) ended`);
  };

  const watch = (connected: pg.Client) => {
    locked = connected;
    connected.once('end', () =>
      queueMicrotask(() => {
        if (!stopping) void regainLock();
      }),
    );
  };
  watch(client);

  const shutDownServer = async () => {
    clearInterval(logTimer);
    if (isOurs) log({ event: 'postgres.stopped', pid, how: await shutDown(pid, paths.cluster, { fastMs: 20_000, immediateMs: 10_000 }) });
    await locked.end().catch(() => {});
    await dropSocketDir(paths, connection.host);
    onEnded();
  };
  /** The lock ends with the connection. */
  const leaveServer = async () => {
    clearInterval(logTimer);
    await locked.end().catch(() => {});
    onEnded();
  };
  const stop = () => {
    stopping ??= shutDownServer();
    return stopping;
  };
  const leave = () => {
    stopping ??= leaveServer();
    return stopping;
  };
  return { connection, adopted, pid, exited, stop, leave };
}
