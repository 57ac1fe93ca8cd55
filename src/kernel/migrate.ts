import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import Type from 'typebox';
import { refuseUnfinished } from './backup/unfinished-restore.ts';
import { type Connection, row, type Tx } from './db/index.ts';
import { exitCodes, Stop } from './errors.ts';

/** One schema, and the folder of its 0001_….sql files. */
export interface Migrations {
  schema: string;
  folder: URL;
}

export interface Migration {
  id: string;
  schema: string;
  sql: string;
  checksum: string;
}

export const migrationLock = 7_203_114_501; // an arbitrary constant: processes that start together migrate one after the other

/** Synchronously: awaiting each file costs ten times as much as reading it. */
export function readMigrations(sources: Migrations[]): Migration[] {
  const all: Migration[] = [];
  for (const { schema, folder } of sources) {
    const files = readdirSync(folder)
      .filter((f) => /^\d{4}_[a-z0-9_]+\.sql$/.test(f))
      .sort();
    for (const file of files) {
      const text = readFileSync(new URL(file, folder), 'utf8');
      all.push({ id: `${schema}/${file.slice(0, -4)}`, schema, sql: text, checksum: createHash('sha256').update(text).digest('hex') });
    }
  }
  return all;
}

/** Told of each migration before it runs: a large table may keep one busy for minutes. */
interface MigrationLog {
  info(fields: object, sentence: string): void;
}

const slowMs = 1_000;
/** A migration waits no longer for the lock of a table: requests would queue up behind it. */
const lockTimeoutMs = 10_000;

/**
 * Forward only, checksummed, one transaction each. Refuses a database that a newer release has already changed, and one that a restore has
 * not filled yet. `upTo` is for the restore itself.
 */
export async function migrate(
  connection: Connection,
  migrations: Migration[],
  upTo?: ReadonlySet<string>,
  log?: MigrationLog,
): Promise<string[]> {
  const client = new pg.Client({ ...connection, lock_timeout: lockTimeoutMs, application_name: 'quarterdeck migrate' });
  client.on('error', () => {}); // told by the query that meets it
  await client.connect();
  try {
    await takeTurn(client, log);
    if (!upTo) await refuseUnfinished(client);
    await ensureSchema(client, 'kernel');
    await client.query(
      `create table if not exists kernel.migration (id text primary key, checksum text not null, applied_at timestamptz(3) not null default clock_timestamp())`,
    );
    const applied = new Map(
      (await client.query<{ id: string; checksum: string }>('select id, checksum from kernel.migration')).rows.map((r) => [
        r.id,
        r.checksum,
      ]),
    );
    refuseNewerDatabase(applied, migrations);

    const done: string[] = [];
    const pending = migrations.filter((m) => !applied.has(m.id) && (!upTo || upTo.has(m.id)));
    for (const m of pending) {
      // The tables of a new database are empty, and made within a second or two.
      if (applied.size > 0) log?.info({ migration: m.id }, 'migrating');
      const began = performance.now();
      await client.query('begin');
      try {
        await ensureSchema(client, m.schema);
        await client.query(`set local search_path = ${m.schema}; ${m.sql}`);
        await client.query('insert into kernel.migration (id, checksum) values ($1, $2)', [m.id, m.checksum]);
        await client.query('commit');
      } catch (error) {
        await client.query('rollback');
        throw new Stop(exitCodes.dataDirectory, `migration ${m.id} failed: ${(error as Error).message}; nothing of it was applied`, {
          cause: error,
        });
      }
      const ms = Math.round(performance.now() - began);
      if (ms > slowMs) log?.info({ migration: m.id, ms }, 'migrated');
      done.push(m.id);
    }
    if (done.length) await presetStatistics(client, [...new Set(migrations.map((m) => m.schema))]).catch(() => {}); // a hint: without it everything works, and is slower for a while
    return done;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Waits for a process that migrates, for as long as that process is connected: its migrations may take minutes. */
async function takeTurn(client: pg.Client, log: MigrationLog | undefined): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [migrationLock]);
  if (rows[0]!.taken) return;
  log?.info({}, 'another process migrates or restores the database; this one starts when that is done');
  await client.query('set lock_timeout = 0');
  await client.query('select pg_advisory_lock($1)', [migrationLock]);
  await client.query(`set lock_timeout = ${lockTimeoutMs}`);
}

/** An existing schema is left alone: the administrator who created it may have kept the right to create schemas. */
async function ensureSchema(client: pg.Client, schema: string): Promise<void> {
  const { rowCount } = await client.query('select 1 from pg_namespace where nspname = $1', [schema]);
  if (!rowCount) await client.query(`create schema if not exists ${schema}`);
}

/**
 * PostgreSQL assumes that a table it has never analyzed is small and evenly distributed. Then every index that begins with the organization
 * looks as good as the one that names the row, and the plan stays cached while the table grows. So the statistics are preset to what is
 * true nearly everywhere: most rows belong to one organization, and most are alive. The first real analyze replaces them. Needs version 18.
 */
async function presetStatistics(client: pg.Client, schemas: string[]): Promise<void> {
  const { rows } = await client.query<{ version: number }>(`select current_setting('server_version_num')::int as version`);
  if (rows[0]!.version < 180_000) return;
  await client.query(
    `select pg_restore_attribute_stats('schemaname', n.nspname::text, 'relname', t.relname::text, 'attname', a.attname::text,
                                      'inherited', false, 'null_frac', f.nulls::real, 'avg_width', f.width, 'n_distinct', f.kinds::real)
      from (values ('org_id', 0, 24, 1), ('revoked_at', 0.9, 8, -0.1), ('deleted_at', 0.9, 8, -0.1)) as f(name, nulls, width, kinds)
      join pg_attribute a on a.attname = f.name and not a.attisdropped
      join pg_class t on t.oid = a.attrelid and t.relkind = 'r' and pg_has_role(t.relowner, 'usage')
      join pg_namespace n on n.oid = t.relnamespace and n.nspname = any($1)
     where not exists (select from pg_stats s where s.schemaname = n.nspname and s.tablename = t.relname and s.attname = a.attname)`,
    [schemas],
  );
}

function refuseNewerDatabase(applied: Map<string, string>, migrations: Migration[]) {
  const known = new Map(migrations.map((m) => [m.id, m.checksum]));
  for (const [id, checksum] of applied) {
    if (!known.has(id))
      throw new Stop(
        exitCodes.databaseNewer,
        `the database was changed by a newer release (migration ${id}); run that release or newer here`,
      );
    if (known.get(id) !== checksum)
      throw new Stop(
        exitCodes.databaseNewer,
        `migration ${id} was applied with another text than this release carries; the database does not belong to this release`,
      );
  }
}

const AppliedRow = Type.Object({ applied_at: Type.String() });

/** When a migration of this release was applied to this database: older rows were written by an earlier release. */
export const migratedAt = async (tx: Tx, id: string): Promise<string> =>
  (await row(tx, AppliedRow)`select applied_at from kernel.migration where id = ${id}`)!.applied_at;
