import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { urlOf } from '../../../../../test/harness/postgres.ts';
import { backup } from '../../../../admin/backup/backup.ts';
import { prepare, restore } from '../../../../admin/restore/restore.ts';
import { adminHere, emptyDatabase, scratch } from '../../../../admin/test/support.ts';
import { readMigrations } from '../../../../kernel/migrate.ts';
import { fileStorage } from '../../../../kernel/storage/index.ts';
import { migrationsOf } from '../../../../serve.ts';
import { areas } from '../../../index.ts';
import { withPrograms } from '../process/support.ts';
import { adminOf, readyCluster, untilReady } from '../support.ts';
import { answers, clustersOf, namesIn, putMap, take } from './support.ts';

test('a backup of a cluster opens after the key was rotated, and comes with a restore of the installation', async (t) => {
  const first = await withPrograms(t);
  await readyCluster(first.owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const way = await adminOf(first.owner, 'prod');
  await putMap(way, 'kept');
  const id = await take(clustersOf(first));
  const env = { QUARTERDECK_DATABASE_URL: urlOf(first.connection), QUARTERDECK_DATA: first.dataDir };
  const rotated = await adminHere(['rotate-key', '--drop-old'], env);
  assert.equal(rotated.code, 0, rotated.err);
  await putMap(way, 'later');
  assert.equal((await clustersOf(first)('restore', 'prod', '--at', id, '--yes')).code, 0);
  assert.deepEqual(await namesIn(way), ['kept']);
  await putMap(way, 'latest');

  const directory = await scratch(t);
  const target = join(directory, 'backup');
  const storage = await fileStorage(join(first.dataDir, 'blobs'));
  const manifest = await backup({
    target,
    connection: first.connection,
    areas,
    dataDir: first.dataDir,
    release: '0.0.1',
    storage,
    withKey: true,
  });
  assert.equal(manifest.blobs?.count, 1);
  assert.ok(
    manifest.tables.some(({ schema, name }) => /^cluster_\w+_g2$/.test(schema) && name === 'kine'),
    'the store of the second generation',
  );
  await first.stop();

  const database = await emptyDatabase(t);
  const dataDir = join(directory, 'new');
  const migrations = readMigrations(migrationsOf(areas));
  const to = await fileStorage(join(dataDir, 'blobs'));
  await restore(await prepare(target, dataDir, migrations), { database, storage: to, dataDir, areas, migrations });
  const second = await quarterdeck(t, { connection: database.connection, dataDir, env: { QUARTERDECK_CLUSTER_BINARIES: first.binaries } });
  await untilReady(second.owner, 'prod');
  await answers(way);
  assert.deepEqual(await namesIn(way), ['kept', 'latest']);
  const restored = await clustersOf(second)('restore', 'prod', '--at', id, '--yes');
  assert.equal(restored.code, 0, restored.err);
  await answers(way);
  assert.deepEqual(await namesIn(way), ['kept']);
  await second.stop(); // before its database goes
});
