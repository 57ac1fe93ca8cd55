import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { freshDatabase, stopOwnServer } from '../../../test/harness/postgres.ts';

interface Plan {
  'Index Name'?: string;
  Plans?: Plan[];
}

test('a row is found by its own index in a table without statistics, and the plan is kept while it grows', async (t) => {
  const { connection, drop } = await freshDatabase();
  const client = new pg.Client(connection);
  await client.connect();
  t.after(async () => {
    await client.end();
    await drop();
    await stopOwnServer();
  });
  const { rows: tables } = await client.query<{ name: string; keys: string[]; dead: string | null }>(`
    select t.oid::regclass::text as name, array_agg(k.relname::text) as keys,
           (select a.attname from pg_attribute a where a.attrelid = t.oid and a.attname in ('revoked_at', 'deleted_at')) as dead
      from pg_index i join pg_class t on t.oid = i.indrelid join pg_class k on k.oid = i.indexrelid
     where i.indpred is null and pg_get_indexdef(i.indexrelid) ~ '\\((org_id, )?id( DESC)?\\)$'
       and exists (select from pg_attribute o where o.attrelid = t.oid and o.attname = 'org_id')
       and exists (select from pg_attribute a where a.attrelid = t.oid and a.attname = 'id' and a.atttypid = 'text'::regtype)
     group by t.oid order by 1`);
  assert.ok(tables.length >= 15, `${tables.length} tables`);
  assert.ok(tables.some((table) => table.dead));

  // As a prepared statement is planned after several uses: for any values, and until the table has new statistics.
  await client.query('set plan_cache_mode = force_generic_plan');
  const indexOf = async (statement: string) => {
    await client.query(`prepare looked (text, text) as ${statement}`);
    const { rows } = await client.query(`explain (format json) execute looked ('org', 'id')`);
    await client.query('deallocate looked');
    const names = ({ 'Index Name': own, Plans = [] }: Plan): (string | undefined)[] => [own, ...Plans.flatMap(names)];
    return names(rows[0]['QUERY PLAN'][0].Plan).filter(Boolean).join(' ');
  };
  for (const { name, keys, dead } of tables) {
    const whole = `select * from ${name} where org_id = $1 and id = $2`;
    for (const statement of [whole, `${whole} for update`, ...(dead ? [`${whole} and ${dead} is null`] : [])]) {
      const index = await indexOf(statement);
      assert.ok(keys.includes(index), `${statement} goes by ${index || 'no index'}, not by ${keys}`);
    }
  }
});
