import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { tell } from '../../cli/tell.ts';
import { areas } from '../areas/index.ts';
import { borrowDatabase, type Database } from '../boot/database.ts';
import { hasTryServer, tryDirectory } from '../commands/own-server.ts';
import { type Config, readConfig } from '../kernel/config.ts';
import { type Db, isUnavailable, openDb } from '../kernel/db/index.ts';
import { exitCodes, Refusal, Stop } from '../kernel/errors.ts';
import { sendWakes } from '../kernel/jobs/wake.ts';
import { makeLog } from '../kernel/log.ts';
import { readMigrations } from '../kernel/migrate.ts';
import { migrationsOf } from '../serve.ts';
import { requireThisRelease } from './release.ts';

/** What an operator's command works with: the database of a running server, or the same one kept for as long as the command takes. */
export interface Session {
  config: Config;
  database: Database;
  db: Db;
}

/** The settings of this installation. Where there is none yet, those of the server of `serve --try` in this directory. */
export function readSettings(): Config {
  const own = readConfig(process.env, process.cwd());
  if (hasDatabase(own.config) || !hasTryServer(own.explained)) return own.config;
  tell(`with the data of serve --try in ${tryDirectory}: there is no other here`);
  return readConfig({ ...process.env, QUARTERDECK_DATA: tryDirectory }, process.cwd()).config;
}

/** For a restore, which makes an installation: never the one of `serve --try`. */
export const readOwnSettings = (): Config => readConfig(process.env, process.cwd()).config;

/** Opens the database of this installation for one command, and closes it again. */
export async function withSession(work: (session: Session) => Promise<void>): Promise<void> {
  const config = readSettings();
  requireDatabase(config);
  await withDatabase(config, async (database) => {
    await requireThisRelease(database.connection, readMigrations(migrationsOf(areas)));
    const db = openDb({ connection: database.connection, max: 2 });
    const wakes = sendWakes(db, database.connection);
    try {
      await work({ config, database, db });
    } finally {
      await wakes.close();
      await db.end();
    }
  });
}

/** Only a start or a restore makes a database; a mistyped QUARTERDECK_DATA must not. */
export const hasDatabase = (config: Config): boolean => config.database_url !== '' || existsSync(join(config.data, 'postgres'));

function requireDatabase(config: Config) {
  if (hasDatabase(config)) return;
  throw new Stop(
    exitCodes.dataDirectory,
    `there is no Quarterdeck in ${config.data} yet: start it once with \`quarterdeck serve\`, or set QUARTERDECK_DATA or QUARTERDECK_DATABASE_URL to where it is`,
  );
}

/** `told` says at a Ctrl-C what that leaves behind. */
export async function withDatabase<T>(
  config: Config,
  work: (database: Database) => Promise<T>,
  told: () => string | undefined = () => undefined,
): Promise<T> {
  const database = await borrowDatabase(config, makeLog('error'));
  let isLeaving = false;
  const leave = () => {
    if (isLeaving) return; // bin/hand-over.mjs passes on what the terminal has sent too
    isLeaving = true;
    tell(`\nquarterdeck: ${['interrupted', told()].filter(Boolean).join(': ')}`);
    void database.stop().finally(() => process.exit(130));
  };
  process.on('SIGINT', leave).on('SIGTERM', leave);
  try {
    return await work(database);
  } catch (error) {
    // The work fails because its database is going; `leave` ends the process.
    if (isLeaving) await new Promise<never>(() => {});
    throw inOneSentence(error);
  } finally {
    process.removeListener('SIGINT', leave).removeListener('SIGTERM', leave);
    await database.stop();
  }
}

function inOneSentence(error: unknown): unknown {
  if (error instanceof Refusal) return new Stop(exitCodes.refused, error.message, { cause: error });
  if (isUnavailable(error)) {
    return new Stop(exitCodes.databaseUnreachable, 'the database does not answer any more; check that it runs, then try again', {
      cause: error,
    });
  }
  return error;
}
