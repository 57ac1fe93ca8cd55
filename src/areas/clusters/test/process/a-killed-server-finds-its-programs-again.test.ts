import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { eventually, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';
import { fakeBinaries, pidsOf, programsIn, recordsIn, runOf } from './support.ts';

test('a server that was killed finds its clusters’ programs again and restarts none; one that stops ends them', async (t) => {
  const binaries = await fakeBinaries(t);
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const env = { QUARTERDECK_CLUSTER_BINARIES: binaries, QUARTERDECK_CLUSTER_LISTEN: `127.0.0.1:${await freePort()}` };
  const start = () => serverProcess(t, { dir, dataDir, env });
  const first = start();
  await first.ready;
  let owner = await first.owner();
  await readyCluster(owner, { name: 'prod' });
  const admin = await adminOf(owner, 'prod');
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept', namespace: 'default' } };
  assert.equal((await kube(admin, 'POST', '/api/v1/namespaces/default/configmaps', map)).status, 201);
  const before = (await recordsIn(dataDir)).map(({ pid }) => pid).sort();
  assert.equal(before.length, 3);

  await first.killed();
  const second = start();
  await second.ready;
  owner = await second.owner();
  await untilReady(owner, 'prod');
  const isBack = () =>
    kube(admin, 'GET', '/api/v1/namespaces/default/configmaps/kept').then(
      ({ status }) => status === 200,
      () => false,
    );
  await eventually(isBack, { withinMs: 60_000 });
  assert.deepEqual((await recordsIn(dataDir)).map(({ pid }) => pid).sort(), before, 'none was started again');

  // Killed together with its store and its apiserver: the rest is adopted, these are started.
  const [kine] = await pidsOf(dataDir, 'kine');
  const [apiserver] = await pidsOf(dataDir, 'kube-apiserver');
  await second.killed();
  for (const pid of [kine!, apiserver!]) process.kill(pid, 'SIGKILL');
  const third = start();
  await third.ready;
  owner = await third.owner();
  await eventually(isBack, { withinMs: 60_000 });
  assert.notDeepEqual(await pidsOf(dataDir, 'kine'), [kine]);

  assert.equal(await third.stopped(), 0);
  assert.deepEqual(await programsIn(dataDir), []);
  const left = await readdir(await runOf(dataDir), { recursive: true });
  assert.deepEqual(
    left.filter((name) => /\.(key|crt)$/.test(name)),
    [],
    'no key stays on the disk',
  );
  const fourth = start();
  await fourth.ready;
  await eventually(isBack, { withinMs: 60_000 });
});
