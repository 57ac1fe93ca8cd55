import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Database } from '../../boot/database.ts';
import { ensureOrganization } from '../../boot/first-start.ts';
import { readConfig } from '../../kernel/config.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { migrate } from '../../kernel/migrate.ts';
import { requireStorage } from '../../kernel/storage/canary.ts';
import { fileStorage, type Storage } from '../../kernel/storage/index.ts';
import { requireThisRelease } from '../release.ts';
import { prepare, restore } from '../restore/restore.ts';
import { backedUp, fewAreas, fewMigrations } from './backups.ts';
import { dbOn, emptyDatabase, sqlOn } from './support.ts';

const stops = (code: number, sentence: RegExp) => (error: unknown) =>
  error instanceof Stop && error.exitCode === code && sentence.test(error.message);

async function target(t: TestContext, directory: string, storage?: Storage) {
  const dataDir = join(directory, 'new');
  return {
    database: await emptyDatabase(t),
    storage: storage ?? (await fileStorage(join(dataDir, 'blobs'))),
    dataDir,
    areas: fewAreas,
    migrations: fewMigrations(),
  };
}

test('a database that a server has used is refused, whatever release it is of', async (t) => {
  const { directory, target: backup } = await backedUp(t);
  const to = await target(t, directory);
  const prepared = await prepare(backup, to.dataDir, to.migrations);
  await migrate(to.database.connection, to.migrations);
  await dbOn(t, to.database.connection).write((tx) => ensureOrganization(tx, readConfig({}, directory).config));
  await assert.rejects(
    restore(prepared, to),
    stops(exitCodes.refused, /^the database is not empty: it belongs to a Quarterdeck that has been started; /),
  );
  assert.deepEqual(
    await sqlOn(to.database.connection, 'select slug from identity.org'),
    [{ slug: 'default' }],
    'and nothing of it was touched',
  );
});

test('a database with somebody else’s tables is refused', async (t) => {
  const { directory, target: backup } = await backedUp(t);
  const to = await target(t, directory);
  await sqlOn(to.database.connection, 'create schema identity; create table identity.person (name text)');
  const attempt = restore(await prepare(backup, to.dataDir, to.migrations), to);
  await assert.rejects(attempt, stops(exitCodes.refused, /has a table identity\.person that is not Quarterdeck’s/));
});

test('a restore that broke off is finished by the next', async (t) => {
  const { directory, target: backup, manifest } = await backedUp(t);
  const to = await target(t, directory);
  const full: Storage = { ...to.storage, put: () => Promise.reject(new Error('the disk is full')) };
  await assert.rejects(restore(await prepare(backup, to.dataDir, to.migrations), { ...to, storage: full }), /the disk is full/);
  assert.deepEqual(await sqlOn(to.database.connection, 'select count(*) as count from identity.org'), [{ count: 0 }]);
  await assert.rejects(startOn(t, to), unfinished, 'a server would begin a new installation among the objects of the old');
  await assert.rejects(requireThisRelease(to.database.connection, to.migrations), unfinished, 'and an operator would add to it');

  await restore(await prepare(backup, to.dataDir, to.migrations), to);
  const rows = manifest.tables.find((table) => table.name === 'audit')!.rows;
  assert.deepEqual(await sqlOn(to.database.connection, 'select count(*) as count from kernel.audit'), [{ count: rows }]);
  assert.equal((await to.storage.stat('a/b'))?.size, 9);
  await startOn(t, to);
  await requireThisRelease(to.database.connection, to.migrations);
});

/** What a start does with a database, up to its organization. */
async function startOn(t: TestContext, { database, migrations, dataDir }: Awaited<ReturnType<typeof target>>): Promise<void> {
  await migrate(database.connection, migrations);
  await makeOrganization(t, database, dataDir);
}

const makeOrganization = (t: TestContext, { connection }: Database, dataDir: string) =>
  dbOn(t, connection).write((tx) => ensureOrganization(tx, readConfig({}, dataDir).config));

const unfinished = stops(exitCodes.dataDirectory, /^a restore into this database has begun and not ended: /);

/** As if something happened while the objects are put back. */
const meanwhile = (storage: Storage, act: () => Promise<unknown>): Storage => ({
  ...storage,
  put: async (...given) => {
    await act();
    return storage.put(...given);
  },
});

test('a server that starts in the middle of a restore is refused, and the restore goes on', async (t) => {
  const { directory, target: backup } = await backedUp(t);
  const to = await target(t, directory);
  const storage = meanwhile(to.storage, () => assert.rejects(startOn(t, to), unfinished));
  await restore(await prepare(backup, to.dataDir, to.migrations), { ...to, storage });
  await startOn(t, to);
});

test('a server that was starting already stops the restore, and starts again later', async (t) => {
  const { directory, target: backup } = await backedUp(t);
  const to = await target(t, directory);
  const storage = meanwhile(to.storage, () => makeOrganization(t, to.database, to.dataDir));
  const attempt = restore(await prepare(backup, to.dataDir, to.migrations), { ...to, storage });
  await assert.rejects(attempt, stops(exitCodes.refused, /the database is not empty/));
  assert.deepEqual(await sqlOn(to.database.connection, 'select count(*) as count from identity.org'), [{ count: 1 }]);
  await startOn(t, to);
});

test('without its key a backup is not restored, and the operator is told what to do', async (t) => {
  const { directory, dataDir, target: backup } = await backedUp(t, { withKey: false });
  const fresh = join(directory, 'new');
  const all = fewMigrations();
  await assert.rejects(
    prepare(backup, fresh, all),
    stops(
      exitCodes.secretKey,
      /the backup holds no secret\.key, and .*new\/secret\.key is missing: copy the secret\.key of the server that was backed up there/,
    ),
  );
  await mkdir(fresh);
  await writeFile(join(fresh, 'secret.key'), `other:${Buffer.alloc(32, 7).toString('base64')}\n`);
  await assert.rejects(
    prepare(backup, fresh, all),
    stops(exitCodes.secretKey, /new\/secret\.key is not the key of this backup: move it away/),
  );
  await writeFile(join(fresh, 'secret.key'), await readFile(join(dataDir, 'secret.key')));
  const { placeKey } = await prepare(backup, fresh, all);
  await placeKey();
  assert.equal(await readFile(join(fresh, 'secret.key'), 'utf8'), await readFile(join(dataDir, 'secret.key'), 'utf8'));
});

test('a key that the backup carries is put in its place, unless a newer file with the same key is there', async (t) => {
  const { directory, dataDir, target: backup } = await backedUp(t, { withKey: true });
  const fresh = join(directory, 'new');
  const all = fewMigrations();
  await mkdir(fresh);
  await (await prepare(backup, fresh, all)).placeKey();
  const carried = await readFile(join(dataDir, 'secret.key'), 'utf8');
  assert.equal(await readFile(join(fresh, 'secret.key'), 'utf8'), carried);
  const rotated = `k1xabcdef:${Buffer.alloc(32, 9).toString('base64')}\n${carried}`;
  await writeFile(join(fresh, 'secret.key'), rotated);
  await (await prepare(backup, fresh, all)).placeKey();
  assert.equal(await readFile(join(fresh, 'secret.key'), 'utf8'), rotated);
  await rm(fresh, { recursive: true });
});

test('the storage of another installation is refused, and an empty one is marked as this one’s', async (t) => {
  const { directory, target: backup } = await backedUp(t);
  const to = await target(t, directory);
  await to.storage.put('installation/id', Buffer.from('of somebody else'));
  const attempt = async () => restore(await prepare(backup, to.dataDir, to.migrations), to);
  await assert.rejects(attempt(), stops(exitCodes.refused, /^the storage is another installation’s: .*delete its object installation\/id/));
  assert.equal(await to.storage.stat('a/b'), undefined, 'nothing was written to it');

  await to.storage.remove('installation/id');
  await attempt();
  await requireStorage(dbOn(t, to.database.connection), to.storage, 'blobs');
  const [row] = await sqlOn<{ id: string }>(to.database.connection, 'select id from kernel.storage_canary');
  assert.equal(await readFile(join(to.dataDir, 'blobs', 'installation', 'id'), 'utf8'), row!.id);
});
