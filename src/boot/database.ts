import pg from 'pg';
import type { Config } from '../kernel/config.ts';
import type { Connection } from '../kernel/db/index.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import type { Logger } from '../kernel/log.ts';
import { connectRunning, type EmbeddedPostgres, keepPostgres } from '../kernel/postgres/index.ts';

export interface Database {
  connection: Connection;
  /** For LISTEN, which a transaction pooler cannot carry. */
  direct: Connection;
  embedded: boolean;
  stop(): Promise<void>;
}

/** The operator's PostgreSQL when a URL is given, else the embedded one, kept alive for as long as we run. */
export async function openDatabase(config: Config, log: Logger): Promise<Database> {
  if (config.database_url) return external(config);
  return keepEmbedded(config, log);
}

async function external(config: Config): Promise<Database> {
  const connection = { connectionString: config.database_url };
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 5_000 });
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string }>(`select current_setting('server_version_num') as version`);
    if (Number(rows[0]!.version) < 160_000)
      throw new Stop(
        exitCodes.databaseUnreachable,
        `the database at QUARTERDECK_DATABASE_URL is PostgreSQL ${rows[0]!.version}; 16 or newer is needed`,
      );
  } catch (error) {
    if (error instanceof Stop) throw error;
    throw new Stop(
      exitCodes.databaseUnreachable,
      `the database at QUARTERDECK_DATABASE_URL cannot be reached: ${reason(error)}; check the URL and that the server runs`,
    );
  } finally {
    await client.end().catch(() => {});
  }
  return {
    connection,
    direct: config.database_direct_url ? { connectionString: config.database_direct_url } : connection,
    embedded: false,
    stop: async () => {},
  };
}

/** The message without the URL: it may hold a password. */
const reason = (error: unknown) => {
  const { code, message, errors } = error as { code?: string; message?: string; errors?: Error[] };
  return code ?? errors?.[0]?.message ?? message ?? 'no answer';
};

async function keepEmbedded(config: Config, log: Logger): Promise<Database> {
  const keep = () => keepPostgres({ dataDir: config.data, log: ({ event, ...fields }) => log.debug(fields, event) });
  let server: EmbeddedPostgres = await keep();
  let stopping = false;

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
          if (error instanceof Stop && error.exitCode === exitCodes.alreadyRunning) return process.kill(process.pid, 'SIGTERM');
          await new Promise((again) => setTimeout(again, wait));
        }
      }
    });
  watch(server);

  return {
    connection: server.connection,
    direct: server.connection,
    embedded: true,
    stop: async () => {
      stopping = true;
      await server.stop();
    },
  };
}

/** For `quarterdeck admin`: beside a running server its database, else the embedded one for as long as the command takes. */
export async function borrowDatabase(config: Config, log: Logger): Promise<Database> {
  if (config.database_url) return external(config);
  const connection = await connectRunning(config.data);
  if (connection) return { connection, direct: connection, embedded: true, stop: async () => {} };
  return keepEmbedded(config, log);
}
