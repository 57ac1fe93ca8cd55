import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminOf, joinNode, joinToken, kube, readyCluster } from '../support.ts';
import { programsIn, recordsIn, runOf, schemasOf, withPrograms } from './support.ts';

test('a cluster of real programs is made, used and deleted, and leaves no process, file or schema', async (t) => {
  const qd = await withPrograms(t, { env: { QUARTERDECK_METRICS_TOKEN: 'scrape', QUARTERDECK_ROLES: 'api,shard' } });
  const { owner, dataDir } = qd;
  const made = await readyCluster(owner, { name: 'prod' });
  assert.equal(made.orchestratorVersion, 'v1.36.4', 'the newest one that is installed');

  const records = await recordsIn(dataDir);
  assert.deepEqual(
    records.map(({ kind }) => kind).sort(),
    ['kine', 'kube-apiserver', 'kube-controller-manager'],
    'no scheduler without a node',
  );
  assert.equal((await schemasOf(qd.app)).length, 1);

  // No password in any argument; no key that others may read.
  for (const { pid } of records) assert.doesNotMatch(await readFile(`/proc/${pid}/cmdline`, 'utf8'), /postgres(ql)?:/);
  const [cluster] = await readdir(await runOf(dataDir));
  const dir = join(await runOf(dataDir), cluster!);
  assert.equal((await stat(dir)).mode & 0o777, 0o700);
  for (const name of await readdir(dir, { recursive: true })) {
    const { mode } = await stat(join(dir, name));
    if (name.endsWith('.key') || name.endsWith('.json')) assert.equal(mode & 0o077, 0, name);
  }

  const admin = await adminOf(owner, 'prod');
  assert.equal((await kube(admin, 'GET', '/api/v1/namespaces/kube-system')).status, 200);
  const { way: node } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1', 'v1.36.4');
  assert.equal((await kube(node, 'GET', '/api/v1/nodes/worker-1')).status, 200);
  assert.equal((await owner.get('/clusters/prod/nodes')).body.nodes.length, 1);
  await eventually(async () => (await recordsIn(dataDir)).some(({ kind }) => kind === 'kube-scheduler'), { withinMs: 30_000 });

  // What each program uses, and how much the objects are, is said.
  const usage = async () => (await owner.get('/clusters/prod/usage')).body;
  await eventually(
    async () => {
      await qd.clock.advance('61s');
      const { controlPlane, datastore } = await usage();
      return controlPlane.components.length >= 3 && datastore.keys > 10; // each is measured at a moment of its own
    },
    { withinMs: 90_000, everyMs: 250 },
  );
  const { controlPlane, datastore, limitations } = await usage();
  const names = controlPlane.components.map(({ name }: { name: string }) => name);
  assert.ok(
    ['kine', 'kube-apiserver', 'kube-controller-manager'].every((name) => names.includes(name)),
    names.join(),
  );
  assert.ok(controlPlane.components.every(({ memoryBytesP95 }: { memoryBytesP95: number }) => memoryBytesP95 > 2 ** 20));
  assert.ok(datastore.usedBytes > 1_000 && datastore.keys > 10, JSON.stringify(datastore));
  assert.deepEqual(limitations, []);

  // The metrics show it too.
  const metrics = await (await fetch(`${qd.url}/metrics`, { headers: { authorization: 'Bearer scrape' } })).text();
  const figureOf = (name: string, program: string) =>
    Number(
      new RegExp(`^quarterdeck_clusters_program_${name}\\{cluster="${cluster}",program="${program}"\\} (\\S+)$`, 'm').exec(metrics)?.[1],
    );
  for (const program of ['kine', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'])
    assert.equal(figureOf('up', program), 1, program);
  assert.ok(figureOf('memory_bytes', 'kube-apiserver') > 2 ** 20);
  assert.equal(figureOf('restarts', 'kine'), 0);

  assert.equal((await owner.delete('/clusters/prod')).status, 202);
  await eventually(async () => (await owner.get('/clusters/prod')).status === 404, { withinMs: 60_000 });
  assert.deepEqual(await programsIn(dataDir), []);
  await eventually(async () => (await readdir(await runOf(dataDir))).length === 0); // last of all
  assert.deepEqual(await schemasOf(qd.app), []);
});
