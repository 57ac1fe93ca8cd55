import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { AnyArea } from '../../areas/area.ts';
import { fullName, quoted, type Table, tablesOf } from '../backup/catalog.ts';
import { damaged, type Manifest, type TableFile, tableFile } from '../backup/manifest.ts';
import { noProgress, type Progress } from '../progress.ts';

/** Fills the tables, which the caller's transaction has to itself. Whatever is wrong, the caller rolls all of it back. */
export async function copyIn(
  client: pg.Client,
  { own, guests }: { own: readonly string[]; guests: readonly string[] },
  manifest: Manifest,
  directory: string,
  progress: Progress = noProgress,
): Promise<void> {
  const schemas = [...own, ...guests];
  const files = new Map(manifest.tables.map((file) => [fullName(file), file]));
  const tables = await tablesOf(client, schemas);
  for (const table of tables) requireSame(directory, table, files.get(fullName(table)));
  const [unknown] = [...files.keys()].filter((name) => !tables.some((table) => fullName(table) === name));
  if (unknown) throw damaged(directory, `it holds a table ${unknown} that its migrations do not make`);

  await client.query('set constraints all deferred');
  await client.query(`truncate ${tables.map(quoted).join(', ')}`); // rows that migrations made are in the backup too
  await withoutTriggers(client, schemas, async () => {
    for (const table of tables) {
      const file = files.get(fullName(table))!;
      await fill(client, table, file, directory);
      progress.add(file.bytes);
    }
  });
  await setSequences(client, new Set(own), manifest);
  await releaseLeases(client, tables);
}

/** More numbers than the lost server can have given since the backup was made. */
const jump = 2n ** 32n;

/**
 * Numbers that were given after the backup are known elsewhere (in return paths, in an agent's memory): they are not given again. Sequences of other
 * programs go on where they were, since those may not stand a gap.
 */
async function setSequences(client: pg.Client, own: ReadonlySet<string>, { sequences }: Manifest): Promise<void> {
  for (const { schema, name, last } of sequences) {
    if (last === null && !own.has(schema)) continue;
    const { rows } = await client.query<{ most: string; first: string }>(
      'select max_value::text as most, start_value::text as first from pg_sequences where schemaname = $1 and sequencename = $2',
      [schema, name],
    );
    const { most, first } = rows[0]!;
    const next = BigInt(last ?? first) + (own.has(schema) && BigInt(most) > 2n ** 53n ? jump : 0n);
    if (last !== null || next > BigInt(first))
      await client.query('select setval($1::regclass, $2::bigint)', [quoted({ schema, name }), String(next)]);
  }
}

/** What triggers write beside the rows is in the backup too. */
async function withoutTriggers(client: pg.Client, schemas: readonly string[], act: () => Promise<void>): Promise<void> {
  const { rows } = await client.query<{ schema: string; name: string }>(
    `select distinct n.nspname as schema, c.relname as name
       from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
      where not t.tgisinternal and t.tgparentid = 0 and n.nspname = any($1)`,
    [schemas],
  );
  for (const table of rows) await client.query(`alter table ${quoted(table)} disable trigger user`);
  await act();
  await client.query('set constraints all immediate'); // a table with checks that wait cannot be altered
  for (const table of rows) await client.query(`alter table ${quoted(table)} enable trigger user`);
}

/** Schemas of other programs that the backup holds, empty. A name that no area vouches for is left to be found unknown. */
export async function makeForeignSchemas(client: pg.Client, areas: readonly AnyArea[], manifest: Manifest): Promise<string[]> {
  const made: string[] = [];
  for (const schema of new Set(manifest.tables.map((table) => table.schema))) {
    const guests = areas.find((area) => area.foreignSchemas && new RegExp(area.foreignSchemas.pattern).test(schema))?.foreignSchemas;
    if (!guests) continue;
    await client.query(guests.make(schema));
    made.push(schema);
  }
  return made;
}

function requireSame(directory: string, table: Table, file: TableFile | undefined): asserts file is TableFile {
  const same = file && [...file.columns].sort().join() === [...table.columns].sort().join();
  if (!same) throw damaged(directory, `it has not the table ${fullName(table)} that its migrations make`);
}

async function fill(client: pg.Client, table: Table, file: TableFile, directory: string): Promise<void> {
  const there = new Set(table.partitions.map((p) => p.name));
  for (const { name, bound } of file.partitions) {
    if (there.has(name)) continue;
    await client.query(`create table ${quoted({ schema: table.schema, name })} partition of ${quoted(table)} ${bound}`);
  }
  if (file.bytes > 0) {
    const columns = file.columns.map((c) => `"${c}"`).join(', ');
    const target = client.query(copyFrom(`copy ${quoted(table)} (${columns}) from stdin`));
    await pipeline(createReadStream(join(directory, tableFile(file)), { highWaterMark: 256 * 1024 }), target);
  }
  const { rows } = await client.query<{ count: number }>(`select count(*) as count from ${quoted(table)}`);
  if (rows[0]!.count !== file.rows) throw damaged(directory, `${fullName(table)} came to ${rows[0]!.count} rows instead of ${file.rows}`);
}

/**
 * Clears the leases of jobs, tasks and queue rows: their holders at the time of the backup do not run here. Rows are not tied to their
 * machine either, since all its objects are in the storage now.
 */
async function releaseLeases(client: pg.Client, tables: readonly Table[]): Promise<void> {
  for (const table of tables) {
    if (table.columns.includes('node') && table.columns.includes('stored_at'))
      await client.query(`update ${quoted(table)} set stored_at = kernel.now() where stored_at is null`);
    if (!table.columns.includes('lease') || !table.columns.includes('lease_until')) continue;
    const isTied = table.columns.includes('node');
    const free = `lease = null, lease_until = null${isTied ? ', node = null' : ''}`;
    await client.query(`update ${quoted(table)} set ${free} where lease is not null${isTied ? ' or node is not null' : ''}`);
  }
}
