import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { areas } from '../../src/areas/index.ts';
import type { Connection } from '../../src/kernel/db/index.ts';
import { housekeeping } from '../../src/kernel/jobs/housekeeping.ts';
import { migrate, readMigrations } from '../../src/kernel/migrate.ts';
import { keepPostgres } from '../../src/kernel/postgres/index.ts';
import { migrationsOf } from '../../src/serve.ts';

// One PostgreSQL a run, one database a test file. The runner starts the server, migrates a template once and hands its address
// down; a test file that is run alone does the same for itself.

const variable = 'QUARTERDECK_TEST_POSTGRES';
const migratedVariable = 'QUARTERDECK_TEST_MIGRATED';
export const template = 'quarterdeck';

export interface TestServer {
  connection: Connection;
  /** A data directory as a start leaves it that was killed after its migrations. Nothing runs there: it is only copied. */
  migrated: string;
  stop(): Promise<void>;
}

/** Of the kernel and of every area. */
export const allTasks = [...housekeeping, ...areas.flatMap(({ tasks = [] }) => tasks)];

const inMemory = '/dev/shm';
const leastRoom = 4 * 2 ** 30;

/** A run copies a thousand databases, each of seven hundred files: five times as quick where files are memory, if there is enough of it. */
async function roomyDir(): Promise<string> {
  const found = await statfs(inMemory).catch(() => undefined);
  return found && found.bavail * found.bsize >= leastRoom ? inMemory : tmpdir();
}

/** Nothing here survives the run, so it need not reach the disk; and no database lives long enough to be worth a look at its tables. */
const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off', max_connections: '300' };

export async function startTestServer(): Promise<TestServer> {
  const dataDir = await mkdtemp(join(await roomyDir(), 'qdt-'));
  const migrated = `${dataDir}-migrated`;
  const keep = () => keepPostgres({ dataDir, settings });
  const first = await keep();
  await migrate(first.connection, readMigrations(migrationsOf(areas)));
  await first.stop();
  await copyAll(dataDir, migrated);
  const server = await keep();
  await tidyCatalogs(server.connection);
  await prepareTemplate(server.connection);
  await withClient(server.connection, async () => {}); // the first one after a change writes down what it read of the catalogs, for all copies
  return {
    connection: server.connection,
    migrated,
    stop: async () => {
      await server.stop();
      for (const dir of [dataDir, migrated]) await rm(dir, { recursive: true, force: true });
    },
  };
}

/**
 * Migrations leave much behind in the catalogs that nobody has cleared away yet, and every connection to every copy would step over it.
 * Of our own tables nothing is said: the planner is to know as little about them as after a first start.
 */
async function tidyCatalogs(connection: Connection): Promise<void> {
  await withClient(connection, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select oid::regclass::text as name from pg_class where relnamespace = 'pg_catalog'::regnamespace and relkind = 'r' and not relisshared`,
    );
    await client.query(`vacuum (full, freeze) ${rows.map(({ name }) => name).join(', ')}`);
  });
}

async function withClient(connection: Connection, act: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    await act(client);
  } finally {
    await client.end();
  }
}

/** With owners and modes, which PostgreSQL insists on. */
const copyAll = (from: string, to: string) => promisify(execFile)('cp', ['-a', from, to]);

/**
 * Makes a data directory with a migrated database in it, for those who ask nothing about a first start: it spares them making and migrating one.
 * A file that is run alone, without a runner that has one to copy, makes its own as a first start does.
 */
export async function settleMigrated(dataDir: string): Promise<void> {
  const from = process.env[migratedVariable];
  if (!from) return;
  await copyAll(from, dataDir);
  await chmod(dataDir, 0o711); // as a start makes it
}

/**
 * Whoever first starts on a copy finds that every task has had its turn this moment. What each of them does in an empty database is tried
 * once, by the test of a first start; to do it again before each of a thousand tests is a minute of the run. The database does it by itself,
 * with the first organization: a connection for it alone would be a tenth of what a test's server costs the database.
 */
const restTasks = `
  create function public.rest_tasks() returns trigger language plpgsql as $rest$ begin
    update kernel.task set started_at = kernel.now(), last_ok = kernel.now(), next_at = kernel.now() + (next_at - last_ok);
    return null;
  end $rest$;
  create trigger rest_tasks after insert on identity.org for each row when (new.slug = 'default') execute function public.rest_tasks()`;

/** As a server leaves it that ran here a moment ago; and open to whoever can reach its socket, which is in a directory of ours alone. */
async function prepareTemplate(connection: Connection): Promise<void> {
  await withClient(connection, async (client) => {
    await client.query(
      `insert into kernel.task (name, started_at, last_ok, next_at)
       select name, kernel.now(), kernel.now(), kernel.now() + make_interval(secs => every) from unnest($1::text[], $2::float8[]) t(name, every)`,
      [allTasks.map(({ name }) => name), allTasks.map(({ everySeconds }) => everySeconds)],
    );
    await client.query(restTasks);
    // A run makes ten thousand connections: 3 ms of CPU for the password of each would be half a minute.
    const { rows } = await client.query<{ hba_file: string }>('show hba_file');
    await writeFile(rows[0]!.hba_file, 'local all all trust\n');
    await client.query('select pg_reload_conf()');
  });
}

export const handDown = ({ connection, migrated }: TestServer) => ({
  [variable]: JSON.stringify(connection),
  [migratedVariable]: migrated,
});

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
  if (!server) return;
  await leaveAdmin();
  await server.stop();
};

// One connection of a process for all databases that it makes. It keeps nobody: a process ends, and a file counts as tidy, beside it.
/** What its declared type lacks. */
type Admin = pg.Client & { ref(): void; unref(): void };
let admin: Promise<Admin> | undefined;
let asking = 0;
/** Tests that run side by side ask one after the other. */
let before: Promise<unknown> = Promise.resolve();

async function connectAdmin(server: Connection): Promise<Admin> {
  const client = new pg.Client({ ...server, database: 'postgres' }) as Admin;
  client.on('error', () => (admin = undefined));
  await client.connect();
  return client;
}

async function leaveAdmin(): Promise<void> {
  const client = await admin;
  admin = undefined;
  await client?.end();
}

async function askAdmin(server: Connection, text: string): Promise<void> {
  admin ??= connectAdmin(server);
  const client = await admin;
  asking++;
  client.ref();
  const answered = before.then(() => client.query(text));
  before = answered.catch(() => {});
  try {
    await answered;
  } finally {
    if (--asking === 0) client.unref();
  }
}

let made = 0;

/** A copy of the migrated template, gone with the test. */
export async function freshDatabase(options: { empty?: boolean } = {}): Promise<{ connection: Connection; drop(): Promise<void> }> {
  const server = await testServer();
  const name = `t_${process.pid}_${++made}_${process.hrtime.bigint() % 1_000_000n}`;
  await askAdmin(server, `create database ${name} template ${options.empty ? 'template0' : template} strategy file_copy`);
  return { connection: { ...server, database: name }, drop: () => askAdmin(server, `drop database if exists ${name} with (force)`) };
}

/** The same connection as a URL, for a process of its own. */
export const urlOf = ({ host, port, user, password, database }: Connection) =>
  `postgresql://${user}:${encodeURIComponent(String(password))}@localhost:${port ?? 5432}/${database}?host=${encodeURIComponent(String(host))}`;
