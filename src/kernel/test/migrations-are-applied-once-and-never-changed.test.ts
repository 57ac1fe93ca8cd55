import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { freshDatabase, stopOwnServer } from '../../../test/harness/postgres.ts';
import type { Connection } from '../db/index.ts';
import { exitCodes, Stop } from '../errors.ts';
import { migrate, migrationLock, readMigrations } from '../migrate.ts';

after(stopOwnServer);

async function query(connection: Connection, text: string) {
  const client = new pg.Client(connection);
  await client.connect();
  return (await client.query(text).finally(() => client.end())).rows;
}

/** A folder of migrations as an area has it, and an empty database. */
async function release(t: TestContext, files: Record<string, string>) {
  const dir = await mkdtemp(join(tmpdir(), 'qdm-'));
  t.after(() => rm(dir, { recursive: true }));
  const write = async (more: Record<string, string>) => {
    for (const [name, text] of Object.entries(more)) await writeFile(join(dir, name), text);
    return readMigrations([{ schema: 'shop', folder: pathToFileURL(`${dir}/`) }]);
  };
  const { connection, drop } = await freshDatabase({ empty: true });
  t.after(drop);
  return { connection, migrations: await write(files), write };
}

const stopsWith = (exitCode: number, sentence: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Stop, String(error));
  assert.match(error.message, sentence);
  assert.equal(error.exitCode, exitCode);
  return true;
};

test('in the order of their names, in a schema of their own, and once', async (t) => {
  const { connection, migrations, write } = await release(t, {
    '0002_second.sql': 'insert into item values (2);',
    '0001_first.sql': 'create table item (n int); insert into item values (1);',
    'notes.txt': 'not a migration',
    '1_short.sql': 'neither is this',
  });
  assert.deepEqual(await migrate(connection, migrations), ['shop/0001_first', 'shop/0002_second']);
  assert.deepEqual(await migrate(connection, migrations), []);
  assert.deepEqual(await query(connection, 'select n from shop.item order by n'), [{ n: 1 }, { n: 2 }]);

  const next = await write({ '0003_third.sql': 'insert into item values (3);' });
  assert.deepEqual(await migrate(connection, next), ['shop/0003_third']);
});

test('a process that starts while another migrates says so, and waits', async (t) => {
  const { connection, migrations } = await release(t, { '0001_first.sql': 'create table item (n int);' });
  const other = new pg.Client(connection);
  await other.connect();
  await other.query('select pg_advisory_lock($1)', [migrationLock]);
  const said: string[] = [];
  const { promise: isWaiting, resolve } = Promise.withResolvers<void>();
  const log = {
    info(_fields: object, line?: string) {
      said.push(String(line));
      resolve();
    },
  };
  const migrated = migrate(connection, migrations, undefined, log as Parameters<typeof migrate>[3]);
  await isWaiting;
  assert.match(said[0]!, /another process migrates or restores the database/);
  await other.end();
  assert.deepEqual(await migrated, ['shop/0001_first']);
});

test('a database that goes in the middle is an error of the migration, and ends no process by itself', async (t) => {
  const { connection, migrations } = await release(t, { '0001_first.sql': 'select pg_terminate_backend(pg_backend_pid());' });
  await assert.rejects(migrate(connection, migrations), /terminat/);
});

test('processes that start together apply each once', async (t) => {
  const { connection, migrations } = await release(t, {
    '0001_first.sql': 'create table item (n int); select pg_sleep(0.1);',
    '0002_second.sql': 'insert into item values (1);',
  });
  const done = await Promise.all([1, 2, 3, 4].map(() => migrate(connection, migrations)));
  assert.deepEqual(done.flat().sort(), ['shop/0001_first', 'shop/0002_second']);
  assert.deepEqual(await query(connection, 'select n from shop.item'), [{ n: 1 }]);
});

test('one that fails leaves nothing of itself, keeps those before it, and goes through once it is mended', async (t) => {
  const { connection, migrations, write } = await release(t, {
    '0001_first.sql': 'create table item (n int);',
    '0002_broken.sql': 'insert into item values (1); create table other (n int); select 1 / 0;',
  });
  await assert.rejects(
    migrate(connection, migrations),
    stopsWith(exitCodes.dataDirectory, /migration shop\/0002_broken failed: division by zero; nothing of it was applied/),
  );
  assert.deepEqual(await query(connection, 'select n from shop.item'), []);
  assert.deepEqual(await query(connection, `select to_regclass('shop.other') as other`), [{ other: null }]);
  assert.deepEqual(await migrate(connection, await write({ '0002_broken.sql': 'insert into item values (1);' })), ['shop/0002_broken']);
});

test('a text that changed after it was applied, or one that we do not have, is refused before anything is done', async (t) => {
  const { connection, migrations, write } = await release(t, { '0001_first.sql': 'create table item (n int);' });
  await migrate(connection, migrations);

  const edited = await write({ '0001_first.sql': 'create table item (n bigint);', '0002_second.sql': 'insert into item values (2);' });
  await assert.rejects(
    migrate(connection, edited),
    stopsWith(exitCodes.databaseNewer, /shop\/0001_first was applied with another text than this release carries/),
  );
  assert.deepEqual(await query(connection, 'select n from shop.item'), []);
  await assert.rejects(
    migrate(connection, []),
    stopsWith(exitCodes.databaseNewer, /changed by a newer release \(migration shop\/0001_first\)/),
  );
});
