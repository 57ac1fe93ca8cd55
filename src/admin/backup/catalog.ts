import type pg from 'pg';
import type { AnyArea } from '../../areas/area.ts';
import type { Partition } from './manifest.ts';

export interface Table {
  schema: string;
  name: string;
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
export async function tablesOf(client: pg.Client, schemas: readonly string[]): Promise<Table[]> {
  const { rows } = await client.query<Table & { deep: boolean }>(
    `select n.nspname as schema, c.relname as name, pg_table_size(c.oid) as bytes,
            array(select a.attname::text from pg_attribute a
                   where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns,
            (select coalesce(jsonb_agg(jsonb_build_object('name', p.relname, 'bound', pg_get_expr(p.relpartbound, p.oid)) order by p.relname), '[]')
               from pg_inherits i join pg_class p on p.oid = i.inhrelid where i.inhparent = c.oid) as partitions,
            exists(select from pg_inherits i join pg_class p on p.oid = i.inhrelid where i.inhparent = c.oid and p.relkind <> 'r') as deep,
            array(select distinct format('%s.%s', fn.nspname, fc.relname) from pg_constraint k
                    join pg_class fc on fc.oid = k.confrelid join pg_namespace fn on fn.oid = fc.relnamespace
                   where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as "refersTo"
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any($1::text[]) and c.relkind in ('r', 'p') and not c.relispartition
      order by n.nspname, c.relname`,
    [schemas],
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

const patternsOf = (areas: readonly AnyArea[]) => areas.flatMap(({ guests }) => (guests ? [guests.pattern] : []));

/** Schemas of other programs, which areas vouch for, that are there now. */
export async function guestSchemas(client: pg.Client, areas: readonly AnyArea[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'select nspname::text as name from pg_namespace where nspname ~ any($1::text[]) order by 1',
    [patternsOf(areas)],
  );
  return rows.map(({ name }) => name);
}

/** A sequence is outside every snapshot and only grows: read after the snapshot, it is past whatever the rows hold. */
export async function sequencesOf(client: pg.Client, schemas: readonly string[]) {
  const { rows } = await client.query<{ schema: string; name: string; last: string | null }>(
    'select schemaname as schema, sequencename as name, last_value::text as last from pg_sequences where schemaname = any($1::text[]) order by 1, 2',
    [schemas],
  );
  return rows;
}
