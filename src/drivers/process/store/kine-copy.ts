import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { asUnavailable, type Connection, types } from '../../../kernel/db/index.ts';
import { guarded } from '../../../kernel/faults/guarded.ts';
import { unlessAborted } from '../../../kernel/guard/index.ts';
import { kineSchemas, quoted } from './kine.ts';

// A copy of the objects in a kine schema at one moment, and a schema made of such a copy. Only the newest revision of each object is in it: what
// came before is for watches, and those are told to list again after a restore.
//
// Content is what COPY writes in its text format, a line for each object: id, name, created, create_revision, prev_revision, lease, value.

const columns = 'id, name, created, create_revision, prev_revision, lease, value';

/** Limits of one copy. A role could put a view that never ends in the place of its table. */
const limits = { statementTimeout: '600s', lockTimeout: '10s', workMem: '64MB' };

/** The newest row of each object. Values are never sorted or hashed (see `begin`): a large store would need more temporary files than its role may have. Rows that are
 *  no objects are left out: kine's own mark of what is compacted, and numbers that it filled in. */
const live = (schema: string) =>
  `select ${columns} from ${quoted(schema).strings[0]}.kine
    where id in (select max(id) from ${quoted(schema).strings[0]}.kine group by name)
      and deleted = 0 and name <> 'compact_rev_key' and name not like 'gap-%'`;

async function connect(connection: Connection): Promise<pg.Client> {
  const client = new pg.Client({
    ...connection,
    types,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    application_name: 'quarterdeck cluster backup',
  });
  client.on('error', () => {}); // the query that meets it throws
  await client.connect();
  return client;
}

const begin = (isolation: string) =>
  `begin ${isolation}; set local statement_timeout = '${limits.statementTimeout}'; set local lock_timeout = '${limits.lockTimeout}';
   set local work_mem = '${limits.workMem}'; set local enable_hashjoin = off; set local datestyle = 'ISO, YMD'; set local bytea_output = 'hex'`;

/** An open copy. `end` closes its connection, also before all of it was read. */
export interface KineCopy {
  revision: number;
  objects: number;
  content: Readable;
  end(): Promise<void>;
}

const missing = ['3F000', '42P01'];

/** Opens a copy of one moment. `connection` logs in as the schema's role, where it has one: see `asRole`. */
export async function openCopy(connection: Connection, schema: string): Promise<KineCopy> {
  const client = await connect(connection);
  const end = () => client.end().catch(() => {});
  try {
    await client.query(begin('isolation level repeatable read read only'));
    const { rows } = await client.query<{ revision: number; objects: number }>(
      `select (select coalesce(max(id), 0) from ${quoted(schema).strings[0]}.kine) as revision,
              (select count(*) from (${live(schema)}) l where starts_with(name, '/registry/')) as objects`,
    );
    const content = client.query(copyTo(`copy (${live(schema)}) to stdout`));
    content.once('close', guarded('clusters.backup.copy', content, end));
    return { ...rows[0]!, content, end };
  } catch (error) {
    await end();
    if (missing.includes((error as { code?: string }).code ?? '')) throw new Error('the store has no table yet', { cause: error });
    throw error;
  }
}

/** Objects for a store of another kind, in pages. Events are left out: they expire soon. */
export async function* readObjects(connection: Connection, schema: string): AsyncGenerator<{ key: Buffer; value: Buffer }> {
  const client = await connect(connection);
  try {
    await client.query(begin('isolation level repeatable read read only'));
    await client.query(
      `declare objects no scroll cursor for
         select name, value from (${live(schema)}) l where starts_with(name, '/registry/') and not starts_with(name, '/registry/events/')`,
    );
    for (;;) {
      const { rows } = await client.query<{ name: string; value: Buffer | null }>('fetch 100 from objects');
      for (const { name, value } of rows) yield { key: Buffer.from(name), value: value ?? Buffer.alloc(0) };
      if (rows.length === 0) return;
    }
  } finally {
    await client.end().catch(() => {});
  }
}

export const newestRevision = async (connection: Connection, schema: string): Promise<number> => {
  const client = await connect(connection);
  try {
    const { rows } = await client.query<{ revision: number }>(
      `select coalesce(max(id), 0) as revision from ${quoted(schema).strings[0]}.kine`,
    );
    return rows[0]!.revision;
  } finally {
    await client.end().catch(() => {});
  }
};

/** Passes the content on, and ends once the signal is aborted, also while a storage stands still. `pipeline` would wait for it. */
async function* whileWanted(content: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await unlessAborted(signal, () => chunks.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    void chunks.return?.().catch(() => {}); // it closes what it reads once that goes on
  }
}

export interface Loaded {
  content: AsyncIterable<Uint8Array>;
  revision: number;
  signal: AbortSignal;
}

/**
 * Makes a schema of a copy, whole or not at all: one transaction. New revisions follow `revision`, and everything before it counts as compacted:
 * a watch from there gets 410, and its client lists again. Returns the number of objects.
 */
export async function loadCopy(connection: Connection, schema: string, { content, revision, signal }: Loaded): Promise<number> {
  const client = await connect(connection);
  const end = () => client.end().catch(() => {});
  const table = `${quoted(schema).strings[0]}.kine`;
  signal.addEventListener('abort', end, { once: true });
  try {
    signal.throwIfAborted();
    await client.query(begin(''));
    await client.query(kineSchemas.make(schema));
    await client.query(`alter table ${table} alter column deleted set default 0`);
    await pipeline(whileWanted(content, signal), client.query(copyFrom(`copy ${table} (${columns}) from stdin`)));
    await client.query(`alter table ${table} alter column deleted drop default`);
    const { rows } = await client.query<{ objects: number; newest: number }>(
      `select count(*) filter (where starts_with(name, '/registry/')) as objects, coalesce(max(id), 0) as newest from ${table}`,
    );
    const { objects, newest } = rows[0]!;
    if (newest >= revision) throw new Error(`the copy has the revision ${newest}, and is to be continued at ${revision}`);
    // Its compactor ends for good if it finds everything compacted at its start, so the last revision is not.
    await client.query(
      `insert into ${table} (id, name, created, deleted, create_revision, prev_revision, lease, value, old_value)
       values ($1::bigint, 'compact_rev_key', 1, 0, 0, $1::bigint - 1, 0, '', '')`,
      [revision],
    );
    await client.query('select setval($1::regclass, $2::bigint)', [`"${schema}".${kineSchemas.table.sequence}`, revision]);
    await client.query(`analyze ${table}`); // kine asks before autovacuum comes by
    await client.query('commit');
    return objects;
  } catch (error) {
    signal.throwIfAborted(); // the statement says that its connection was ended
    throw asUnavailable(error) ?? error;
  } finally {
    signal.removeEventListener('abort', end);
    await end();
  }
}
