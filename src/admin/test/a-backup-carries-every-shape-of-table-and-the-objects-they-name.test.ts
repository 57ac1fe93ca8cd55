import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fakeS3 } from '../../../test/fakes/s3.ts';
import { freshDatabase } from '../../../test/harness/postgres.ts';
import { mayRemoveStored } from '../../kernel/backup/backup-lock.ts';
import { type Connection, isUnavailable } from '../../kernel/db/index.ts';
import { Stop } from '../../kernel/errors.ts';
import { migrate, readMigrations } from '../../kernel/migrate.ts';
import { openRing } from '../../kernel/secrets.ts';
import { fileStorage, type Storage, s3Storage } from '../../kernel/storage/index.ts';
import { migrationsOf } from '../../serve.ts';
import { backup } from '../backup/backup.ts';
import { prepare, restore } from '../restore/restore.ts';
import { dbOn, depotAlone, emptyDatabase, scratch, sqlOn } from './support.ts';

const migrations = () => readMigrations(migrationsOf(depotAlone()));

async function filled(t: TestContext, options: { upTo?: string[] } = {}) {
  const { connection, drop } = await freshDatabase({ empty: true });
  t.after(drop);
  const directory = await scratch(t);
  const dataDir = join(directory, 'data');
  await mkdir(dataDir);
  const all = await migrations();
  await migrate(
    connection,
    all,
    options.upTo && new Set([...all.map((m) => m.id).filter((id) => !id.startsWith('depot/')), ...options.upTo]),
  );
  await dbOn(t, connection).write((tx) => openRing(tx, dataDir));
  await sqlOn(
    connection,
    `insert into depot.shelf (parent, label) select case when n > 1 then n - 1 end, 'shelf ' || n from generate_series(1, 50) n;
     insert into depot.entry select n, case when n % 2 = 0 then E'tab\\t line\\n back\\\\slash ü ☃' end, n / 3.0, make_interval(secs => n, days => n), 1.0 / n,
            array['a,b', 'c"d', null], jsonb_build_object('n', n, 'text', E'\\\\N') from generate_series(1, 50) n;
     create table depot.reading_2026_01 partition of depot.reading for values from ('2026-01-01Z') to ('2026-02-01Z');
     create table depot.reading_2026_02 partition of depot.reading for values from ('2026-02-01Z') to ('2026-03-01Z');
     create table depot.reading_rest partition of depot.reading default;
     insert into depot.reading select timestamptz '2026-01-20Z' + make_interval(days => n), n from generate_series(1, 60) n;
     insert into depot.box (id, object, lease, lease_until) values ('held', 'depot/second', gen_random_uuid(), now() + interval '1 hour');
     insert into depot.box (id, object) values ('same object', 'depot/second')`,
  );
  return { connection, directory, dataDir, target: join(directory, 'backup') };
}

async function withObjects(storage: Storage): Promise<Storage> {
  await storage.put('depot/first', Buffer.from('the first'));
  await storage.put('depot/second', Buffer.alloc(3_000_000, 'second '));
  await storage.put('depot/orphan', Buffer.from('named by no row'));
  return storage;
}

const everything = (connection: Connection) =>
  Promise.all(
    ['shelf', 'entry', 'reading', 'reading_2026_02', 'reading_rest'].map((table) =>
      sqlOn<{ row: string }>(connection, `select t::text as row from depot.${table} t order by 1`),
    ),
  );

test('every shape of table comes back, and the objects from S3 into files', async (t) => {
  const { connection, directory, dataDir, target } = await filled(t);
  const s3 = await fakeS3();
  t.after(() => s3.stop());
  const from = await withObjects(s3Storage({ ...s3 }));
  t.after(() => from.close());
  const made = await backup({ target, connection, areas: depotAlone(), dataDir, release: '0.0.1', storage: from, withKey: true });
  assert.equal(made.blobs?.count, 2, 'one object that two rows name is one; what no row names is none');
  for (const file of ['', 'manifest.json', 'tables/depot.box.copy', 'secret.key', 'blobs/depot/first'])
    assert.equal((await stat(join(target, file))).mode & 0o077, 0, `others may not read ${file}`);

  const database = await emptyDatabase(t);
  const newData = join(directory, 'new');
  const to = await fileStorage(join(newData, 'blobs'));
  const restored = await restore(await prepare(target, newData, await migrations()), {
    database,
    storage: to,
    dataDir: newData,
    areas: depotAlone(),
    migrations: await migrations(),
  });
  assert.deepEqual(restored.migrated, []);
  assert.deepEqual(await everything(database.connection), await everything(connection));
  assert.deepEqual(await sqlOn(database.connection, `select id, object, lease, lease_until from depot.box order by id`), [
    { id: 'held', object: 'depot/second', lease: null, lease_until: null },
    { id: 'made-by-the-migration', object: 'depot/first', lease: null, lease_until: null },
    { id: 'same object', object: 'depot/second', lease: null, lease_until: null },
  ]);
  const [next] = await sqlOn<{ id: number; loud: string }>(
    database.connection,
    `insert into depot.shelf (label) values ('next') returning id, loud`,
  );
  assert.deepEqual(next, { id: 51 + 2 ** 32, loud: 'NEXT' }, 'numbers that were given after the backup are not given again');
  assert.equal((await to.stat('depot/second'))?.size, 3_000_000);
  assert.equal(await to.stat('depot/orphan'), undefined);
  assert.equal(await readFile(join(newData, 'secret.key'), 'utf8'), await readFile(join(dataDir, 'secret.key'), 'utf8'));
  assert.equal((await stat(join(newData, 'secret.key'))).mode & 0o777, 0o600);
  await assert.rejects(stat(join(target, 'owner.token')), 'the token of the old machine stays there');
});

test('a backup of an older release is brought up to date after its rows are in', async (t) => {
  const { connection, directory, dataDir, target } = await filled(t, { upTo: ['depot/0001_depot'] });
  const storage = await withObjects(await fileStorage(join(directory, 'blobs')));
  await backup({ target, connection, areas: depotAlone(), dataDir, release: '0.0.1', storage });
  const database = await emptyDatabase(t);
  const all = await migrations();
  const restored = await restore(await prepare(target, dataDir, all), { database, storage, dataDir, areas: depotAlone(), migrations: all });
  assert.deepEqual(restored.migrated, ['depot/0002_depot']);
  const weights = await sqlOn<{ weight: number }>(database.connection, 'select distinct weight from depot.box');
  assert.deepEqual(weights, [{ weight: 7 }]);
});

test('an object that the storage has lost stops the backup, unless the operator lets it go', async (t) => {
  const { connection, directory, dataDir, target } = await filled(t);
  const storage = await withObjects(await fileStorage(join(directory, 'blobs')));
  await storage.remove('depot/second');
  const options = { target, connection, areas: depotAlone(), dataDir, release: '0.0.1', storage };
  await assert.rejects(
    backup(options),
    (error) => error instanceof Stop && /does not hold depot\/second/.test(error.message) && error.exitCode === 12,
  );
  assert.deepEqual(await readdir(directory), ['blobs', 'data'], 'nothing half is left');
  const made = await backup({ ...options, allowMissing: true });
  assert.deepEqual([made.blobs?.count, made.blobs?.missing], [1, 2]);
});

test('while a backup runs, removing objects has to wait', async (t) => {
  const { connection, directory, dataDir, target } = await filled(t);
  const storage = await withObjects(await fileStorage(join(directory, 'blobs')));
  const db = dbOn(t, connection);
  const answers: boolean[] = [];
  const asking: Storage = {
    ...storage,
    open: async (key) => {
      answers.push(await db.write(mayRemoveStored));
      return storage.open(key);
    },
  };
  assert.equal(await db.write(mayRemoveStored), true);
  await backup({ target, connection, areas: depotAlone(), dataDir, release: '0.0.1', storage: asking });
  assert.deepEqual(new Set(answers), new Set([false]));
  assert.equal(await db.write(mayRemoveStored), true);
});

test('a backup whose connection is cut says so and leaves nothing, in the middle of a table and in the middle of the objects', async (t) => {
  const { connection, directory, dataDir, target } = await filled(t);
  const storage = await withObjects(await fileStorage(join(directory, 'blobs')));
  /** What there is, or as soon as there is something: PostgreSQL looks by itself, a thousand times a second. */
  const cut = (which: string, looks: number) =>
    sqlOn(
      connection,
      `do $$ begin
         for n in 1..${looks} loop
           perform pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and application_name = 'quarterdeck backup' and ${which};
           exit when found;
           perform pg_sleep(0.001), pg_stat_clear_snapshot();
         end loop;
       end $$`,
    );
  const options = { target, connection, areas: depotAlone(), dataDir, release: '0.0.1', storage };

  const whileObjects = backup({
    ...options,
    storage: {
      ...storage,
      open: async (key) => {
        await cut('true', 1);
        return storage.open(key);
      },
    },
  });
  await assert.rejects(whileObjects, isUnavailable);

  await sqlOn(connection, `insert into depot.entry select 1, repeat('x', 1000), 1, '1 s', 1, '{}', '{}' from generate_series(1, 20000)`);
  const [whileRows] = await Promise.allSettled([backup(options), cut(`query like 'copy%' and state = 'active'`, 20_000)]);
  assert.ok(whileRows.status === 'rejected' && isUnavailable(whileRows.reason), 'it was cut in the middle');
  assert.deepEqual((await readdir(directory)).sort(), ['blobs', 'data']);
});
