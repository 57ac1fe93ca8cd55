import type { AnyArea } from '../areas/area.ts';
import type { Config } from '../kernel/config.ts';
import { readDisk } from '../kernel/data/disk-space.ts';
import { type Connection, openDb } from '../kernel/db/index.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import { tryBind } from '../kernel/lifecycle/try-bind.ts';
import type { Logger } from '../kernel/log.ts';
import { migrate, readMigrations } from '../kernel/migrate.ts';
import { connectRunning } from '../kernel/postgres/index.ts';
import { checkStorage } from '../kernel/storage/canary.ts';
import { migrationsOf } from '../serve.ts';
import type { Parent, ServerBefore } from './parent.ts';
import { refuseBeforeStart } from './prepare-start.ts';
import { nameStorage, openStorage } from './storage.ts';

/**
 * What a server finds out that is to replace another one, while that one serves: whatever it refuses here, the other one goes on. It touches no
 * file of the data directory. Migrations are applied, as in a rolling upgrade: they suit the release before, and a long one delays no request.
 */
export async function checkNext(config: Config, log: Logger, areas: readonly AnyArea[], parent: Parent): Promise<void> {
  const { before } = parent;
  const doing = (what: string) => parent.doing(what);
  if (!before) return;
  refuseOtherPlace(config, before);
  await refuseFullDisk(config);
  await refuseBeforeStart(config, log);
  await refuseTakenAddresses(config, before);
  doing('looking at the database');
  const { connection, stop } = await openBeside(config, log);
  try {
    await migrate(connection, readMigrations(migrationsOf(areas)), undefined, {
      info: (fields: object, sentence: string) => {
        if ('migration' in fields) doing(`applying the migration ${fields.migration}`);
        log.info(fields, sentence);
      },
    });
    doing('looking at the storage');
    await refuseOtherStorage(config, connection);
  } finally {
    await stop();
  }
  doing('waiting for the server before');
}

const refuse = (sentence: string): never => {
  throw new Stop(exitCodes.configuration, sentence);
};

function refuseOtherPlace(config: Config, before: ServerBefore) {
  if (config.data !== before.data)
    refuse(`QUARTERDECK_DATA was ${before.data} and is ${config.data} now; stop the server and start it for that`);
  if (before.isEmbedded !== (config.database_url === ''))
    refuse('a reload does not change between the embedded PostgreSQL and another one; stop the server and start it for that');
}

/** The server before still answers what it can from a full disk; a start there fails, and would leave none. */
async function refuseFullDisk({ data }: Config): Promise<void> {
  if ((await readDisk(data)) === 'full')
    throw new Stop(exitCodes.dataDirectory, `the disk at ${data} is full; free some space there, then reload`);
}

/** Addresses that the server before does not have: it would be too late to find out when it has left. */
async function refuseTakenAddresses(config: Config, { addresses }: ServerBefore): Promise<void> {
  const isOwn = (at: { host: string; port: number }) =>
    addresses.some(({ host, port, bound }) => host === at.host && [port, bound].includes(at.port));
  const wanted = [
    ['listen', config.listen],
    ['metrics_listen', config.metrics_listen],
    ...(config.roles.includes('api') ? ([['http_listen', config.http_listen]] as const) : []),
    ...(config.roles.includes('smtp')
      ? ([
          ['smtp_submission', config.smtp_submission],
          ['smtps', config.smtps],
          ['smtp_inbound', config.smtp_inbound],
        ] as const)
      : []),
  ] as const;
  for (const [key, at] of wanted) {
    if (!at || at.port === 0 || isOwn(at)) continue;
    const code = await tryBind(at);
    if (code !== undefined)
      throw new Stop(
        exitCodes.portTaken,
        `cannot listen on ${at.host}:${at.port} (${code}); set QUARTERDECK_${key.toUpperCase()} to another host:port`,
      );
  }
}

/** The database that the server before uses. */
async function openBeside(config: Config, log: Logger): Promise<{ connection: Connection; stop(): Promise<void> }> {
  if (config.database_url) return (await import('./external.ts')).openExternal(config, log);
  const connection = await connectRunning(config.data);
  if (connection) return { connection, stop: async () => {} };
  throw new Stop(
    exitCodes.databaseUnreachable,
    'the embedded PostgreSQL that runs is not of this release, or does not answer; stop the server and start it for that',
  );
}

async function refuseOtherStorage(config: Config, connection: Connection): Promise<void> {
  const db = openDb({ connection, max: 1 });
  const storage = await openStorage(config);
  try {
    const why = await checkStorage(db, storage, nameStorage(config)).catch(() => undefined); // a start goes on while the storage is away
    if (why !== undefined) refuse(why);
  } finally {
    storage.close();
    await db.end();
  }
}
