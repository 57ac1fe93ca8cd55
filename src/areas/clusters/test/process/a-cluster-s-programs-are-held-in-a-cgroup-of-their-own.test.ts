import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { eventually, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { readyCluster, untilReady } from '../support.ts';
import { clustersAlone, fakeBinaries, killProgram, pidsOf, recordsIn } from './support.ts';

const fakeCgroups = import.meta.resolve('./fake-cgroups.ts');
const mebibyte = 2 ** 20;

test('with delegated cgroups, a cluster’s programs are in one with its tier’s limits, over kills, changes and deletion', async (t) => {
  const binaries = await fakeBinaries(t);
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const root = join(dir, 'cgroups');
  const env = {
    ...(await clustersAlone(binaries)),
    QUARTERDECK_METRICS_LISTEN: `127.0.0.1:${await freePort()}`,
    QD_CGROUPS: root,
  };
  const start = async () => {
    const server = serverProcess(t, { dir, dataDir, env, nodeFlags: [`--import=${fakeCgroups}`] });
    await server.ready;
    return { server, owner: await server.owner() };
  };
  const first = await start();
  await readyCluster(first.owner, { name: 'prod' });

  const all = join(root, 'own', 'quarterdeck-clusters');
  const [id] = await readdir(all).then((names) => names.filter((name) => name.startsWith('cls_')));
  assert.ok(id);
  const read = async (name: string) => (await readFile(join(all, id, name), 'utf8')).trim();
  const entered = async () => new Set((await read('cgroup.procs')).split('\n').map(Number));
  assert.deepEqual([await read('memory.max'), await read('memory.high')], [String(2_000 * mebibyte), String(1_600 * mebibyte)]);
  const programs = (await recordsIn(dataDir)).map(({ pid }) => pid).sort();
  assert.deepEqual([...(await entered())].sort(), programs, 'all of them, and no other process');
  // A cgroup with limited children cannot hold processes itself.
  assert.match(await readFile(join(root, 'own', 'quarterdeck-server', 'cgroup.procs'), 'utf8'), new RegExp(`^${first.server.pid}$`, 'm'));
  assert.equal(await readFile(join(root, 'own', 'cgroup.subtree_control'), 'utf8'), '+memory +cpu');

  // A server that was killed: the same programs, and those that it adopts are entered by their numbers.
  await first.server.killed();
  await writeFile(join(all, id, 'cgroup.procs'), '');
  const { server, owner } = await start();
  await untilReady(owner, 'prod');
  await eventually(async () => [...(await entered())].sort().join() === programs.join());

  // Another tier has other bounds, once the old apiserver has left.
  assert.equal((await owner.patch('/clusters/prod', { tier: 'medium' })).status, 200);
  await untilReady(owner, 'prod');
  await eventually(async () => (await read('memory.max')) === String(6_400 * mebibyte) && (await read('cpu.weight')) === '200');

  // Whom the kernel ends for memory is named, with what to do.
  await misbehave(binaries, { 'kube-apiserver': { slowStartMs: 2_500 }, 'kube-controller-manager': { slowStartMs: 2_500 } });
  await writeFile(join(all, id, 'memory.events'), 'low 0\nhigh 7\nmax 3\noom 1\noom_kill 1\noom_group_kill 0\n');
  await killProgram(dataDir, 'kube-apiserver');
  // Also while the apiserver is away: that is when its people ask.
  const statuses = new Set<number>();
  const limits = async () => {
    const { status, body } = await owner.get('/clusters/prod/usage');
    statuses.add(status);
    return (body.limitations ?? []).join('\n');
  };
  await eventually(async () => /kube-apiserver was ended: .* 6400 MiB of memory/.test(await limits()), { withinMs: 60_000 });
  await untilReady(owner, 'prod');
  const metrics = await (await fetch(`http://${env.QUARTERDECK_METRICS_LISTEN}/metrics`)).text();
  assert.match(metrics, /^quarterdeck_clusters_program_memory_ends\{[^}]*program="kube-apiserver"[^}]*\} 1$/m);
  // One that ends for another reason is not said to have ended for that.
  await killProgram(dataDir, 'kube-controller-manager');
  await eventually(async () => /kube-controller-manager ended/.test(await limits()), { withinMs: 60_000 });
  await untilReady(owner, 'prod');

  assert.deepEqual([...statuses], [200]);

  await owner.delete('/clusters/prod');
  await eventually(async () => (await owner.get('/clusters/prod')).status === 404, { withinMs: 60_000 });
  await eventually(async () => (await pidsOf(dataDir, 'kine')).length === 0 && !(await readdir(all)).includes(id));
  assert.equal(await server.stopped(), 0);
});
