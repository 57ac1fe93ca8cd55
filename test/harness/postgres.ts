import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { areas } from '../../src/areas/index.ts';
import type { Connection } from '../../src/kernel/db/index.ts';
import { migrate, readMigrations } from '../../src/kernel/migrate.ts';
import { keepPostgres } from '../../src/kernel/postgres/index.ts';
import { migrationsOf } from '../../src/serve.ts';

// One PostgreSQL a run, one database a test file. The runner starts the server, migrates a template once and hands its address
// down; a test file that is run alone does the same for itself.

const variable = 'QUARTERDECK_TEST_POSTGRES';
export const template = 'quarterdeck';

export interface TestServer {
  connection: Connection;
  stop(): Promise<void>;
}

const inMemory = '/dev/shm';
const leastRoom = 4 * 2 ** 30;

/** A run copies a thousand databases, each of seven hundred files: five times as quick where files are memory, if there is enough of it. */
async function roomyDir(): Promise<string> {
  const found = await statfs(inMemory).catch(() => undefined);
  return found && found.bavail * found.bsize >= leastRoom ? inMemory : tmpdir();
}

/** Nothing here survives the run, so it need not reach the disk. */
export async function startTestServer(): Promise<TestServer> {
  const dataDir = await mkdtemp(join(await roomyDir(), 'qdt-'));
  const server = await keepPostgres({
    dataDir,
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
  });
  await quickPassword(server.connection);
  await migrate(server.connection, await readMigrations(migrationsOf(areas)));
  return {
    connection: server.connection,
    stop: async () => {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A run makes thousands of connections. Hashing the password 4,096 times for each would be a minute of the run. */
async function quickPassword(connection: Connection): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  await client.query('set scram_iterations = 1');
  await client.query(
    `alter role ${client.escapeIdentifier(connection.user!)} password ${client.escapeLiteral(String(connection.password))}`,
  );
  await client.end();
}

export const handDown = (server: TestServer) => ({ [variable]: JSON.stringify(server.connection) });

let own: Promise<TestServer> | undefined;

export async function testServer(): Promise<Connection> {
  const given = process.env[variable];
  if (given) return JSON.parse(given) as Connection;
  own ??= startTestServer();
  return (await own).connection;
}

export const stopOwnServer = async () => {
  const server = await own;
  own = undefined;
  await server?.stop();
};

let made = 0;

/** A copy of the migrated template, gone with the test. */
export async function freshDatabase(options: { empty?: boolean } = {}): Promise<{ connection: Connection; drop(): Promise<void> }> {
  const server = await testServer();
  const name = `t_${process.pid}_${++made}_${process.hrtime.bigint() % 1_000_000n}`;
  const admin = async (sql: string) => {
    const client = new pg.Client({ ...server, database: 'postgres' });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  await admin(`create database ${name} template ${options.empty ? 'template0' : template} strategy file_copy`);
  return { connection: { ...server, database: name }, drop: () => admin(`drop database if exists ${name} with (force)`) };
}

/** The same connection as a URL, for a process of its own. */
export const urlOf = ({ host, port, user, password, database }: Connection) =>
  `postgresql://${user}:${encodeURIComponent(String(password))}@localhost:${port ?? 5432}/${database}?host=${encodeURIComponent(String(host))}`;
