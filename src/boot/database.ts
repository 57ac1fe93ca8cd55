import type { Config } from '../kernel/config.ts';
import type { Connection } from '../kernel/db/index.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import type { Ending } from '../kernel/lifecycle/ending.ts';
import type { Logger } from '../kernel/log.ts';
import { connectRunning, type EmbeddedPostgres, keepPostgres, lockDataDirectory } from '../kernel/postgres/index.ts';
import { stopWithExitCode } from './stop-with-exit-code.ts';

export interface Database {
  connection: Connection;
  /** For LISTEN, which a transaction pooler cannot carry. */
  direct: Connection;
  embedded: boolean;
  /** This very release has migrated it already. */
  isMigrated?: boolean;
  /** Before a hand-over the embedded one runs on for the next server. */
  stop(ending?: Ending): Promise<void>;
}

/** The operator's PostgreSQL when a URL is given, else the embedded one, kept alive for as long as we run. */
export async function openDatabase(config: Config, log: Logger): Promise<Database> {
  if (config.database_url) return (await import('./external.ts')).openExternal(config, log);
  return keepEmbedded(config, log);
}

/** The directory is ours until we stop, also while its PostgreSQL is down and started again. */
async function keepEmbedded(config: Config, log: Logger): Promise<Database> {
  const serverLock = await lockDataDirectory(config.data, { onWait: (sentence) => log.warn(sentence) });
  const keep = () => keepPostgres({ dataDir: config.data, serverLock, log: ({ event, ...fields }) => log.debug(fields, event) });
  let server: EmbeddedPostgres = await keep().catch((error) => {
    serverLock.release();
    throw error;
  });
  let stopping = false;
  // Two on one directory is worse than none here, so we drain and go.
  void serverLock.lost.then((sentence) => {
    log.error(sentence);
    stopWithExitCode(exitCodes.alreadyRunning);
  });

  const watch = (running: EmbeddedPostgres) =>
    void running.exited.then(async () => {
      for (let wait = 250; !stopping; wait = Math.min(wait * 2, 10_000)) {
        log.error('the embedded PostgreSQL ended by itself; starting it again');
        try {
          server = await keep();
          if (stopping) return server.stop();
          return watch(server);
        } catch (error) {
          log.error({ err: error }, 'the embedded PostgreSQL does not start');
          // Another Quarterdeck has taken over: two on one directory is worse than none here, so we drain and go.
          if (error instanceof Stop && error.exitCode === exitCodes.alreadyRunning) return stopWithExitCode(error.exitCode);
          await new Promise((again) => setTimeout(again, wait));
        }
      }
    });
  watch(server);

  return {
    connection: server.connection,
    direct: server.connection,
    embedded: true,
    stop: async (ending) => {
      stopping = true;
      await (ending?.isHandOver ? server.leave() : server.stop());
      serverLock.release();
    },
  };
}

/** For `quarterdeck admin`: beside a running server its database, else the embedded one for as long as the command takes. */
export async function borrowDatabase(config: Config, log: Logger): Promise<Database> {
  if (config.database_url) return (await import('./external.ts')).openExternal(config, log);
  const connection = await connectRunning(config.data);
  if (connection) return { connection, direct: connection, embedded: true, stop: async () => {} };
  return keepEmbedded(config, log);
}
