import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { backup } from '../../../../admin/backup/backup.ts';
import { prepare, restore } from '../../../../admin/restore/restore.ts';
import { emptyDatabase, scratch } from '../../../../admin/test/support.ts';
import { readMigrations } from '../../../../kernel/migrate.ts';
import { fileStorage } from '../../../../kernel/storage/index.ts';
import { migrationsOf } from '../../../../serve.ts';
import { areas } from '../../../index.ts';
import { adminOf, joinNode, joinToken, kube, readyCluster, untilReady } from '../support.ts';
import { schemasOf, withPrograms } from './support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const map = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { odd: 'tab\t line\n back\\\\ é' } });

test('a backup restores process clusters with their objects on another server, and they run on', async (t) => {
  const first = await withPrograms(t);
  const made = await readyCluster(first.owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const admin = await adminOf(first.owner, 'prod');
  await joinNode(admin, await joinToken(first.owner, 'prod'), 'worker-1');
  assert.equal((await kube(admin, 'POST', maps, map('kept'))).status, 201);
  const kept = (await kube(admin, 'GET', `${maps}/kept`)).body;

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
  assert.equal(manifest.tables.filter(({ name }) => name === 'kine').length, 1);
  await first.stop();

  const database = await emptyDatabase(t);
  const dataDir = join(directory, 'new');
  const migrations = readMigrations(migrationsOf(areas));
  const to = await fileStorage(join(dataDir, 'blobs'));
  await restore(await prepare(target, dataDir, migrations), { database, storage: to, dataDir, areas, migrations });
  const env = { QUARTERDECK_CLUSTER_BINARIES: first.binaries };
  const second = await quarterdeck(t, { connection: database.connection, dataDir, env });
  assert.equal((await schemasOf(second.app)).length, 1);
  assert.equal((await untilReady(second.owner, 'prod')).endpoint, made.endpoint);
  await eventually(async () => (await kube(admin, 'GET', '/readyz').catch(() => undefined))?.status === 200, { withinMs: 60_000 });
  assert.deepEqual((await kube(admin, 'GET', `${maps}/kept`)).body, kept);
  assert.equal((await kube(admin, 'GET', '/api/v1/nodes/worker-1')).status, 200);
  const later = await kube(admin, 'POST', maps, map('later'));
  assert.equal(later.status, 201);
  assert.ok(Number(later.body.metadata.resourceVersion) > Number(kept.metadata.resourceVersion), 'revisions go on');
  // A second restore does not mix two clusters' objects.
  const again = restore(await prepare(target, join(directory, 'other'), migrations), { database, storage: to, dataDir, areas, migrations });
  await assert.rejects(again, /the database is not empty/);
  // Before its database goes.
  await second.stop();
});
