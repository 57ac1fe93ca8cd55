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

test('a backup restores clusters on another server with their keys, nodes and refused certificates', async (t) => {
  const first = await quarterdeck(t);
  const made = await readyCluster(first.owner, { name: 'prod' });
  const admin = await adminOf(first.owner, 'prod');
  const { way: node } = await joinNode(admin, await joinToken(first.owner, 'prod'), 'worker-1');
  const { way: removed } = await joinNode(admin, await joinToken(first.owner, 'prod'), 'worker-2');
  assert.equal((await first.owner.delete('/clusters/prod/nodes/worker-2')).status, 204);
  const registration = (await first.owner.post('/clusters/prod/registration-tokens', { name: 'pool' })).body;

  const directory = await scratch(t);
  const target = join(directory, 'backup');
  const storage = await fileStorage(join(first.dataDir, 'blobs'));
  await backup({ target, connection: first.connection, areas, dataDir: first.dataDir, release: '0.0.1', storage, withKey: true });
  await first.stop();

  const database = await emptyDatabase(t);
  const dataDir = join(directory, 'new');
  const migrations = readMigrations(migrationsOf(areas));
  const to = await fileStorage(join(dataDir, 'blobs'));
  await restore(await prepare(target, dataDir, migrations), { database, storage: to, dataDir, areas, migrations });
  const second = await quarterdeck(t, { connection: database.connection, dataDir });
  assert.equal((await untilReady(second.owner, 'prod')).endpoint, made.endpoint);
  // It says that it is ready from the moment that it is somebody's again, and is listened for a moment later.
  await eventually(() => kube(node, 'GET', '/version').then(() => true));
  assert.equal((await kube(node, 'GET', '/api/v1/nodes/worker-1')).status, 200, 'the certificate is of the same authority');
  assert.equal((await kube(removed, 'GET', '/api/v1/nodes/worker-2')).status, 401);
  assert.equal((await kube(admin, 'GET', '/api/v1/nodes')).status, 200, 'tokens are signed with the same key');
  const joined = await fetch(`${second.url}/join/v1`, { method: 'POST', headers: { authorization: `Bearer ${registration.token}` } });
  assert.equal(joined.status, 201);
});
