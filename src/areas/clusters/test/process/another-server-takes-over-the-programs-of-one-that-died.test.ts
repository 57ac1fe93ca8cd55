import assert from 'node:assert/strict';
import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { urlOf } from '../../../../../test/harness/postgres.ts';
import { eventually, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { startHere } from '../../../../../test/platform/start-here.ts';
import { adminOf, answered, joinNode, joinToken, kube, untilReady } from '../support.ts';
import { fakeBinaries, pidsOf, programsIn, recordsIn, versions } from './support.ts';

/** The programs at work below a data directory, if there are so many, each with its record and no other. */
async function allRunning(dataDir: string, many: number): Promise<number[] | undefined> {
  const [records, pids] = [await recordsIn(dataDir), (await programsIn(dataDir)).sort()];
  const recorded = records.map(({ pid }) => pid).sort();
  return pids.length === many && recorded.join() === pids.join() ? pids : undefined;
}

test('another server replaces one that died, at the same address; when that one returns, it stops its old programs', async (t) => {
  const binaries = await fakeBinaries(t);
  const port = await freePort();
  const env = { QUARTERDECK_CLUSTER_LISTEN: `127.0.0.1:${port}`, QUARTERDECK_CLUSTER_BINARIES: binaries };
  const api = await quarterdeck(t, { env: { ...env, QUARTERDECK_ROLES: 'api,worker' } });
  const { owner } = api;
  const { dir } = await scratch(t);
  const shared = { ...env, QUARTERDECK_DATABASE_URL: urlOf(api.connection), QUARTERDECK_PUBLIC_URL: api.url, QUARTERDECK_ROLES: 'shard' };
  const [here, there] = [join(dir, 'here'), join(dir, 'there')];
  await chmod(dir, 0o700); // like the database's socket: programs run as a user that can reach both
  for (const data of [here, there]) {
    await mkdir(data, { mode: 0o711 });
    await copyFile(join(api.dataDir, 'secret.key'), join(data, 'secret.key'));
  }
  const first = serverProcess(t, { dir, dataDir: here, env: shared });
  await first.ready;
  // What the first can run is known to the process of the API a moment after its start; until then such a version is refused.
  const wanted = { name: 'prod', tier: 'small', orchestratorVersion: versions[0] };
  await eventually(async () => (await owner.post('/clusters', wanted)).status === 201, { withinMs: 60_000 });
  const made = await untilReady(owner, 'prod');
  // The process of the API serves no cluster, and asks all the same.
  const admin = await adminOf(owner, 'prod');
  const { way: node } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  assert.equal((await answered(() => owner.get('/clusters/prod/nodes'))).body.nodes.length, 1);
  // Nothing is being changed any more: the scheduler, which the first node wants, runs, and so do all others.
  const steady = await eventually(() => allRunning(here, 4), { withinMs: 60_000 });

  await first.killed();
  const left = await programsIn(here);
  assert.deepEqual(left.sort(), steady, `its programs run on: ${left} of ${JSON.stringify(await recordsIn(here))}`);
  await api.clock.advance('30s');
  const second = await startHere(t, { dir, dataDir: there, env: shared });
  assert.equal((await untilReady(owner, 'prod')).endpoint, made.endpoint);
  await eventually(async () => (await kube(node, 'GET', '/api/v1/nodes/worker-1').catch(() => ({ status: 0 }))).status === 200, {
    withinMs: 60_000,
  });
  assert.equal((await pidsOf(there, 'kube-apiserver')).length, 1);

  const again = await startHere(t, { dir, dataDir: here, env: shared });
  await eventually(async () => (await programsIn(here)).length === 0, { withinMs: 60_000 });
  assert.ok((await programsIn(there)).length >= 3, 'those of the other go on');
  assert.equal((await kube(node, 'GET', '/api/v1/nodes/worker-1')).status, 200);

  await second.stop();
  await eventually(async () => (await kube(node, 'GET', '/api/v1/nodes/worker-1').catch(() => ({ status: 0 }))).status === 200, {
    withinMs: 60_000,
  });
  assert.equal((await owner.delete('/clusters/prod')).status, 202);
  await eventually(async () => (await owner.get('/clusters/prod')).status === 404, { withinMs: 60_000 });
  assert.deepEqual([...(await programsIn(here)), ...(await programsIn(there))], []);
  await again.stop(); // before its database goes
});
