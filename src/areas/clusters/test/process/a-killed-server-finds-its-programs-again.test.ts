import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { adminOf, kube, readyCluster, untilReady, type Way } from '../support.ts';
import { clustersAlone, fakeBinaries, programsIn, recordsBelow, runOf, withOwnPostgres } from './support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept', namespace: 'default' } };

const isThere = (way: Way) =>
  kube(way, 'GET', `${maps}/kept`).then(
    ({ status }) => status === 200,
    () => false,
  );

test('a server adopts its programs after a kill and restarts none; a graceful stop stops them', async (t) => {
  const binaries = await fakeBinaries(t);
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const env = await clustersAlone(binaries);
  const first = serverProcess(t, { dir, dataDir, env });
  const owner = await first.owner();
  const run = await runOf(dataDir);
  const make = async (name: string) => {
    const before = await readdir(run).catch(() => [] as string[]);
    await readyCluster(owner, { name });
    const way = await adminOf(owner, name);
    assert.equal((await kube(way, 'POST', maps, map)).status, 201);
    const own = join(run, (await readdir(run)).find((id) => !before.includes(id))!);
    const pids = async (...kinds: string[]) =>
      (await recordsBelow(own)).flatMap(({ kind, pid }) => (kinds.length === 0 || kinds.includes(kind) ? [pid] : [])).sort();
    return { way, pids, before: await pids() };
  };
  const [prod, hit] = [await make('prod'), await make('hit')];
  assert.equal(prod.before.length, 3);

  // Killed, together with the store and the apiserver of one of the two: the rest is adopted, these are started.
  const ended = await hit.pids('kine', 'kube-apiserver');
  assert.equal(ended.length, 2);
  await first.killed();
  for (const pid of ended) process.kill(pid, 'SIGKILL');
  const second = await withOwnPostgres(t, dataDir, env);
  for (const name of ['prod', 'hit']) await untilReady(second.owner, name);
  await eventually(async () => (await isThere(prod.way)) && (await isThere(hit.way)), { withinMs: 60_000 });
  assert.deepEqual(await prod.pids(), prod.before, 'none was started again');
  for (const pid of ended) assert.ok(!(await hit.pids()).includes(pid));
  assert.equal((await hit.pids()).length, 3);

  await second.stop();
  assert.deepEqual(await programsIn(dataDir), []);
  const left = await readdir(run, { recursive: true });
  assert.deepEqual(
    left.filter((name) => /\.(key|crt)$/.test(name)),
    [],
    'no key stays on the disk',
  );
  await withOwnPostgres(t, dataDir, env);
  await eventually(() => isThere(prod.way), { withinMs: 60_000 });
});
