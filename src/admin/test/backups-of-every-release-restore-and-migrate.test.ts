import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { quarterdeck } from '../../../test/harness/index.ts';
import { areas } from '../../areas/index.ts';
import { readMigrations } from '../../kernel/migrate.ts';
import { openRing } from '../../kernel/secrets.ts';
import { fileStorage } from '../../kernel/storage/index.ts';
import { migrationsOf } from '../../serve.ts';
import { prepare, restore } from '../restore/restore.ts';
import { dbOn, emptyDatabase, scratch, sqlOn } from './support.ts';

const backups = fileURLToPath(new URL('../../../test/data/backups/', import.meta.url));
const releases = (await readdir(backups, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map((entry) => entry.name);

test('there is a backup of a release to restore', () => {
  assert.ok(releases.includes('0.1'), releases.join());
});

for (const release of releases) {
  test(`the backup of ${release} restores and comes up to date`, async (t) => {
    const dataDir = join(await scratch(t), 'data');
    const database = await emptyDatabase(t);
    const migrations = readMigrations(migrationsOf(areas));
    const prepared = await prepare(join(backups, release), dataDir, migrations, { unauthenticated: true });
    const storage = await fileStorage(join(dataDir, 'blobs'));
    const { migrated, jobs } = await restore(prepared, { database, storage, dataDir, areas, migrations });

    assert.deepEqual([...prepared.manifest.migrations.map((m) => m.id), ...migrated].sort(), migrations.map((m) => m.id).sort());
    assert.equal(jobs, 1);
    const { connection } = database;
    assert.deepEqual(await sqlOn(connection, 'select slug, name from identity.org'), [{ slug: 'default', name: 'Default' }]);
    assert.deepEqual(await sqlOn(connection, 'select name, description from identity.custom_role'), [
      { name: 'Reader', description: 'tab\tand backslash \\ ☃' },
    ]);
    assert.deepEqual(await sqlOn(connection, 'select name from services.service'), [{ name: 'checkout' }]);
    assert.deepEqual(await sqlOn(connection, 'select kind, payload, lease from kernel.job'), [
      { kind: 'test.data', payload: { n: 1 }, lease: null },
    ]);
    assert.equal(await readFile(join(dataDir, 'blobs/test/ab/object'), 'utf8'), 'a stored object\n');

    await t.test('its key opens its canary, and a server runs on it', async (t) => {
      const ring = await dbOn(t, connection).write((tx) => openRing(tx, dataDir));
      assert.equal(ring.keys[0]!.id, 'testonly');
      const server = await quarterdeck(t, { connection, dataDir });
      assert.deepEqual(
        (await server.owner.get('/uptime/services')).body.services?.map((s: { name: string }) => s.name),
        ['checkout'],
      );
    });
  });
}
