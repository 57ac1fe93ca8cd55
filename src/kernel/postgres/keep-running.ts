import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { boundLog } from '../programs/log-file.ts';
import type { EmbeddedConnection } from './connection.ts';
import type { Log } from './events.ts';
import { takeLock } from './keeper-lock.ts';
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
  /** Settles only when the server ends, or goes to another keeper, without our having asked. */
  exited: Promise<{ reason: string }>;
}

export interface Held {
  place: PostgresPaths;
  pid: number;
  connection: EmbeddedConnection;
  /** The connection whose session holds the keeper's lock. */
  client: pg.Client;
  adopted: boolean;
  /** Called when the server has ended or is another keeper's. */
  ended: () => void;
}

/** From the moment the lock is ours until we stop: watches its connection, takes it again when only that broke. */
export function keepRunning({ place, pid, connection, client, adopted, ended }: Held, log: Log): EmbeddedPostgres {
  const { promise: exited, resolve: resolveExited } = Promise.withResolvers<{ reason: string }>();
  const bounding = setInterval(() => void boundLog(place.log).catch(() => {}), 60_000).unref();
  let locked = client;
  let ours = true;
  let stopping: Promise<void> | undefined;

  const leave = (reason: string) => {
    ours = false;
    clearInterval(bounding);
    ended();
    resolveExited({ reason });
  };

  // The connection also ends when the server restarts its processes because one of them crashed; then it is still ours to keep.
  const regain = async (): Promise<void> => {
    while (!stopping && (await isPostmaster(pid, place.cluster))) {
      const attempt = await takeLock(connection).catch((error: Error) => ({ away: error }));
      if ('heldBy' in attempt) return leave(`another Quarterdeck (pid ${attempt.heldBy}) has taken over the database`);
      if ('held' in attempt) {
        watch(attempt.held);
        return log({ event: 'postgres.lock-regained', pid });
      }
      await sleep(50);
    }
    if (!stopping) leave(`PostgreSQL (pid ${pid}) ended`);
  };

  const watch = (connected: pg.Client) => {
    locked = connected;
    connected.once('end', () =>
      queueMicrotask(() => {
        if (!stopping) void regain();
      }),
    );
  };
  watch(client);

  const shut = async () => {
    clearInterval(bounding);
    if (ours) log({ event: 'postgres.stopped', pid, how: await shutDown(pid, place.cluster, { fastMs: 20_000, immediateMs: 10_000 }) });
    await locked.end().catch(() => {});
    await dropSocketDir(place, connection.host);
    ended();
  };
  const stop = () => {
    stopping ??= shut();
    return stopping;
  };
  return { connection, adopted, pid, exited, stop };
}
