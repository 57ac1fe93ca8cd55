import assert from 'node:assert/strict';
import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { urlOf } from '../../../../../test/harness/postgres.ts';
import { eventually, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { startHere } from '../../../../../test/platform/start-here.ts';
import { run } from '../../../../kernel/db/index.ts';
import { adminOf, kube, readyCluster, untilReady, type Way } from '../support.ts';
import { maps } from './request-loop.ts';
import { clustersAlone, fakeBinaries, pidsOf, programsIn, recordsIn, versions, withOwnPostgres } from './support.ts';

const dedicated = { mode: 'dedicated', storageGiB: 1 };
const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept', namespace: 'default' } };
const isThere = (way: Way) =>
  kube(way, 'GET', `${maps}/kept`).then(
    ({ status }) => status === 200,
    () => false,
  );

test('a server adopts a cluster’s etcd after a kill, and finds its data after a graceful stop', async (t) => {
  const binaries = await fakeBinaries(t, versions, { withEtcd: true });
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const env = await clustersAlone(binaries);
  const first = serverProcess(t, { dir, dataDir, env });
  const owner = await first.owner();
  await readyCluster(owner, { name: 'prod', datastore: dedicated });
  const way = await adminOf(owner, 'prod');
  assert.equal((await kube(way, 'POST', maps, map)).status, 201);
  const pids = async () => (await recordsIn(dataDir)).map(({ pid }) => pid).sort();
  const before = await pids();
  assert.equal(before.length, 3);

  await first.killed();
  const second = await withOwnPostgres(t, dataDir, env);
  await untilReady(second.owner, 'prod');
  await eventually(() => isThere(way), { withinMs: 60_000 });
  assert.deepEqual(await pids(), before, 'none was started again');

  await second.stop();
  assert.deepEqual(await programsIn(dataDir), []);
  await withOwnPostgres(t, dataDir, env);
  await eventually(() => isThere(way), { withinMs: 60_000 });
  assert.equal((await pidsOf(dataDir, 'etcd')).length, 1);
});

test('another server does not take a cluster whose files it lacks; it deletes one whose server is away for good', async (t) => {
  const binaries = await fakeBinaries(t, versions, { withEtcd: true });
  const env = { QUARTERDECK_CLUSTER_LISTEN: `127.0.0.1:${await freePort()}`, QUARTERDECK_CLUSTER_BINARIES: binaries };
  const api = await quarterdeck(t, { env: { ...env, QUARTERDECK_ROLES: 'api,worker' } });
  const { owner, app, clock } = api;
  const { dir } = await scratch(t);
  const shared = { ...env, QUARTERDECK_DATABASE_URL: urlOf(api.connection), QUARTERDECK_PUBLIC_URL: api.url, QUARTERDECK_ROLES: 'shard' };
  const [here, there] = [join(dir, 'here'), join(dir, 'there')];
  await chmod(dir, 0o700);
  for (const data of [here, there]) {
    await mkdir(data, { mode: 0o711 });
    await copyFile(join(api.dataDir, 'secret.key'), join(data, 'secret.key'));
  }
  const first = serverProcess(t, { dir, dataDir: here, env: shared });
  await first.ready;
  const wanted = { tier: 'small', orchestratorVersion: versions[0], datastore: dedicated };
  await eventually(async () => (await owner.post('/clusters', { name: 'prod', ...wanted })).status === 201, { withinMs: 60_000 });
  await untilReady(owner, 'prod');
  assert.equal((await owner.post('/clusters', { name: 'other', ...wanted })).status, 201);
  await untilReady(owner, 'other');
  const admin = await adminOf(owner, 'prod');
  assert.equal((await kube(admin, 'POST', maps, map)).status, 201);

  await first.killed();
  await clock.advance('30s');
  const second = await startHere(t, { dir, dataDir: there, env: shared });
  // It runs new ones, and leaves this one to the server that has its data.
  assert.equal((await owner.post('/clusters', { name: 'third', ...wanted })).status, 201);
  await untilReady(owner, 'third');
  assert.equal((await pidsOf(there, 'etcd')).length, 1);
  const away = await owner.get('/clusters/prod/usage');
  assert.equal(away.status, 502);
  assert.match(away.body.error, /the server that has the datastore of cluster prod does not answer; the cluster is back with that server/);
  const listed = (await owner.get('/clusters')).body.clusters.find(({ name }: { name: string }) => name === 'prod');
  assert.equal(listed.phase, 'degraded');
  // A server of the release before knows nothing of stores: what it would claim stays free.
  const stolen = await app.db.write(
    (tx) =>
      run(tx)`update clusters.cluster set lease = gen_random_uuid(), lease_until = kernel.now() + interval '1 day' where name = 'prod'`,
  );
  assert.equal(stolen, 0);

  await clock.advance('2m');
  assert.equal((await owner.delete('/clusters/other')).status, 202);
  await eventually(async () => (await owner.get('/clusters/other')).status === 404, { withinMs: 60_000 });

  const again = await startHere(t, { dir, dataDir: here, env: shared });
  await untilReady(owner, 'prod');
  await eventually(() => isThere(admin), { withinMs: 60_000 });
  // What is left of the deleted one ends.
  await eventually(async () => (await pidsOf(here, 'etcd')).length === 1, { withinMs: 90_000, everyMs: 500 });
  for (const name of ['prod', 'third']) assert.equal((await owner.delete(`/clusters/${name}`)).status, 202);
  for (const name of ['prod', 'third'])
    await eventually(async () => (await owner.get(`/clusters/${name}`)).status === 404, { withinMs: 60_000 });
  await second.stop();
  await again.stop(); // before its database goes
});
