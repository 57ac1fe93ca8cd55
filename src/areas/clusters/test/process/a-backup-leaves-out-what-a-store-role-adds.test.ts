import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { backup } from '../../../../admin/backup/backup.ts';
import { prepare, restore } from '../../../../admin/restore/restore.ts';
import { emptyDatabase, scratch } from '../../../../admin/test/support.ts';
import { readMigrations } from '../../../../kernel/migrate.ts';
import { fileStorage } from '../../../../kernel/storage/index.ts';
import { migrationsOf } from '../../../../serve.ts';
import { areas } from '../../../index.ts';
import { readyCluster } from '../support.ts';
import { schemasOf, withPrograms } from './support.ts';

test('a backup holds clusters’ stores, skips and never runs what their roles add, and can be restored', async (t) => {
  const { owner, app, connection, dataDir } = await withPrograms(t);
  await readyCluster(owner, { name: 'good' });
  const [good] = await schemasOf(app);
  await readyCluster(owner, { name: 'bad' });
  const bad = (await schemasOf(app)).find((name) => name !== good)!;
  const client = new pg.Client(connection as pg.ClientConfig);
  client.on('error', () => {}); // its database goes before it
  await client.connect();
  t.after(() => client.end().catch(() => {}));
  const as = async (role: string, text: string) => {
    await client.query(`set session authorization ${role}; set search_path = ${role}; ${text}`);
    await client.query('reset session authorization; reset search_path');
  };
  await as(
    good!,
    `create table a (i int) partition by range (i); create table b partition of a for values from (0) to (9) partition by range (i);
     create table c partition of b for values from (0) to (9); create view d as select * from kine; create sequence e;
     create function grab(int) returns boolean immutable language plpgsql as $f$ begin
       if (select rolsuper from pg_roles where rolname = current_user) then execute 'alter role ${good} superuser'; end if; return true; end $f$;
     create index sly on kine (id) where grab(1)`,
  );
  // Rows that a restore could not take, in a table of the right name; and a number that no new sequence takes.
  await as(bad, 'alter table kine add column more text; alter sequence kine_id_seq minvalue -9 restart with -9');

  const directory = await scratch(t);
  const target = join(directory, 'backup');
  const storage = await fileStorage(join(dataDir, 'blobs'));
  const said: string[] = [];
  const warn = (sentence: string) => said.push(sentence);
  const manifest = await backup({ target, connection, areas, dataDir, release: '0.0.1', storage, withKey: true, warn });
  assert.deepEqual(
    manifest.tables.filter(({ schema }) => schema.startsWith('cluster_')).map(({ schema, name }) => `${schema}.${name}`),
    [`${good}.kine`],
  );
  for (const name of [...['a', 'b', 'c', 'd', 'e'].map((each) => `${good}.${each}`), `${bad}.kine`])
    assert.ok(said.join().includes(name), `${name} is named in: ${said}`);
  const { rows } = await client.query('select rolsuper from pg_roles where rolname = $1', [good]);
  assert.deepEqual(rows, [{ rolsuper: false }], 'nothing of the role’s own ran with our rights');

  const database = await emptyDatabase(t);
  const migrations = readMigrations(migrationsOf(areas));
  const to = join(directory, 'new');
  const into = { database, storage: await fileStorage(join(to, 'blobs')), dataDir: to, areas, migrations };
  await restore(await prepare(target, to, migrations), into);
});
