import type pg from 'pg';
import type { AnyArea } from '../../areas/area.ts';
import type { Partition } from './manifest.ts';

export interface Table {
  schema: string;
  name: string;
  /** It is cut into parts, or may be. */
  isPartitioned: boolean;
  /** Those that hold values of their own; generated ones come by themselves. */
  columns: string[];
  /** Where its rows lie, if it is cut into parts; they are copied through it. */
  partitions: Partition[];
  /** `schema.name` of the tables that must be filled before it. */
  refersTo: string[];
  bytes: number;
}

export const fullName = ({ schema, name }: { schema: string; name: string }) => `${schema}.${name}`;
export const quoted = ({ schema, name }: { schema: string; name: string }) => `"${schema}"."${name}"`;

/** The migrations of the target speak for themselves, and a clock that a test moved stays where it was moved. */
const notCopied = new Set(['kernel.migration', 'kernel.clock']);

/** Every table of these schemas that a backup holds, those that others refer to first. */
export async function tablesOf(client: pg.Client, schemas: readonly string[], guests: readonly ForeignTable[] = []): Promise<Table[]> {
  const { rows } = await client.query<Table & { deep: boolean }>(
    `select n.nspname as schema, c.relname as name, pg_table_size(c.oid) as bytes, c.relkind = 'p' as "isPartitioned",
            array(select a.attname::text from pg_attribute a
                   where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns,
            (select coalesce(jsonb_agg(jsonb_build_object('name', p.relname, 'bound', pg_get_expr(p.relpartbound, p.oid)) order by p.relname), '[]')
               from pg_inherits i join pg_class p on p.oid = i.inhrelid where i.inhparent = c.oid) as partitions,
            exists(select from pg_inherits i join pg_class p on p.oid = i.inhrelid where i.inhparent = c.oid and p.relkind <> 'r') as deep,
            array(select distinct format('%s.%s', fn.nspname, fc.relname) from pg_constraint k
                    join pg_class fc on fc.oid = k.confrelid join pg_namespace fn on fn.oid = fc.relnamespace
                   where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as "refersTo"
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where (n.nspname = any($1::text[]) or (n.nspname, c.relname) in (select * from unnest($2::text[], $3::text[])))
        and c.relkind in ('r', 'p') and not c.relispartition
      order by n.nspname, c.relname`,
    [schemas, guests.map(({ schema }) => schema), guests.map(({ name }) => name)],
  );
  for (const table of rows) if (table.deep) throw new Error(`${fullName(table)} has partitions of partitions, which a backup cannot hold`);
  return inOrder(rows.filter((table) => !notCopied.has(fullName(table))));
}

function inOrder(tables: Table[]): Table[] {
  const ordered: Table[] = [];
  const done = new Set<string>();
  const ours = new Set(tables.map(fullName));
  for (let left = tables; left.length; ) {
    const ready = left.filter((table) => table.refersTo.every((name) => done.has(name) || !ours.has(name)));
    if (!ready.length)
      throw new Error(`the tables ${left.map(fullName).join(', ')} refer to each other in a circle, which a restore cannot fill`);
    for (const table of ready) {
      ordered.push(table);
      done.add(fullName(table));
    }
    left = left.filter((table) => !done.has(fullName(table)));
  }
  return ordered;
}

const patternsOf = (areas: readonly AnyArea[]) => areas.flatMap(({ foreignSchemas: guests }) => (guests ? [guests.pattern] : []));

/** Schemas of other programs, which areas vouch for, that are there now. */
export async function foreignSchemas(client: pg.Client, areas: readonly AnyArea[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'select nspname::text as name from pg_namespace where nspname ~ any($1::text[]) order by 1',
    [patternsOf(areas)],
  );
  return rows.map(({ name }) => name);
}

/** A guest's own table, and the sequence that numbers its rows. */
export interface ForeignTable {
  schema: string;
  name: string;
  sequence: string;
}

/**
 * The tables in foreign schemas that a backup holds, and other objects in those schemas. The owner of such a schema may create any object
 * there: only the table that the area vouches for is read, and only in the shape that a restore can make again.
 */
export async function findForeignTables(client: pg.Client, areas: readonly AnyArea[]): Promise<{ tables: ForeignTable[]; odd: string[] }> {
  const { rows } = await client.query<{ schema: string; name: string; kind: string; columns: Record<string, string>; keys: string[] }>(
    `select n.nspname::text as schema, c.relname::text as name, case when c.relispartition then 'part' else c.relkind::text end as kind,
            (select coalesce(jsonb_object_agg(a.attname, case when a.attgenerated = '' then format_type(a.atttypid, null) end), '{}')
               from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
            array(select a.attname::text from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
                   where i.indrelid = c.oid and i.indisprimary and i.indisvalid) as keys
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname ~ any($1::text[]) and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      order by 1, 2 limit 100000`,
    [patternsOf(areas)],
  );
  const tables: ForeignTable[] = [];
  const odd: string[] = [];
  for (const { schema, name, kind, columns, keys } of rows) {
    const { table } = areas.find(({ foreignSchemas: guests }) => guests && new RegExp(guests.pattern).test(schema))!.foreignSchemas!;
    const isWhole = Object.keys(table.columns).length === Object.keys(columns).length && keys.join() === table.key;
    const fits = Object.entries(table.columns).every(([column, types]) => types.includes(columns[column] ?? ''));
    if (kind === 'r' && name === table.name && isWhole && fits) tables.push({ schema, name, sequence: table.sequence });
    else if (kind !== 'S' || name !== table.sequence) odd.push(fullName({ schema, name }));
  }
  return { tables, odd };
}

/** A sequence is outside every snapshot and only grows: read after the snapshot, it is past whatever the rows hold. */
export async function sequencesOf(client: pg.Client, schemas: readonly string[], guests: readonly ForeignTable[]) {
  const { rows } = await client.query<{ schema: string; name: string; last: string | null }>(
    `select schemaname as schema, sequencename as name, last_value::text as last from pg_sequences
      where schemaname = any($1::text[])
         or ((schemaname, sequencename) in (select * from unnest($2::text[], $3::text[])) and coalesce(last_value, 1) > 0)
      order by 1, 2`,
    [schemas, guests.map(({ schema }) => schema), guests.map(({ sequence }) => sequence)],
  );
  return rows;
}
