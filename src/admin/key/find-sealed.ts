import type pg from 'pg';
import { sealedBy } from '../../kernel/secrets.ts';

/** A column of ours, declared or forgotten, that holds a value sealed with one of these keys. Looks at every bytea there is. */
export async function columnSealedWith(client: pg.Client, keyIds: readonly string[]): Promise<string | undefined> {
  const { rows: columns } = await client.query<{ name: string; place: string; column: string }>(
    `select format('%s.%s.%s', n.nspname, c.relname, a.attname) as name, format('%I.%I', n.nspname, c.relname) as place, format('%I', a.attname) as column
       from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in (select split_part(id, '/', 1) from kernel.migration) and c.relkind in ('r', 'p') and not c.relispartition
        and a.atttypid = 'bytea'::regtype and a.attnum > 0 and not a.attisdropped order by 1`,
  );
  for (const { name, place, column } of columns) {
    for (const beginning of keyIds.map(sealedBy)) {
      const { rowCount } = await client.query(`select from ${place} where substring(${column} from 1 for $2) = $1 limit 1`, [
        beginning,
        beginning.length,
      ]);
      if (rowCount) return name;
    }
  }
  return undefined;
}
