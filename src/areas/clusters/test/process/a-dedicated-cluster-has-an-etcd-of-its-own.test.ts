import assert from 'node:assert/strict';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { installFakes, misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';
import { askOften, maps } from './request-loop.ts';
import { killProgram, pidsOf, programsIn, recordsIn, schemasOf, versions, withPrograms } from './support.ts';

const dedicated = { mode: 'dedicated', storageGiB: 1 };
const map = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } });
const storesOf = (dataDir: string) => readdir(join(dataDir, 'clusters', 'stores'));

test('a dedicated cluster is made on an etcd of its own, and leaves no process or file', async (t) => {
  const qd = await withPrograms(t, { withEtcd: true });
  const { owner, dataDir } = qd;
  await readyCluster(owner, { name: 'prod', datastore: dedicated });
  const records = await recordsIn(dataDir);
  assert.deepEqual(records.map(({ kind }) => kind).sort(), ['etcd', 'kube-apiserver', 'kube-controller-manager']);
  assert.deepEqual(await schemasOf(qd.app), [], 'nothing of it is in the shared database');
  const admin = await adminOf(owner, 'prod');
  assert.equal((await kube(admin, 'POST', maps, map('kept'))).status, 201);
  await eventually(
    async () => {
      await qd.clock.advance('61s');
      return (await owner.get('/clusters/prod/usage')).body.datastore.keys > 10;
    },
    { withinMs: 90_000, everyMs: 250 },
  );
  const { datastore, limitations } = (await owner.get('/clusters/prod/usage')).body;
  assert.deepEqual([datastore.mode, datastore.quotaBytes, datastore.members], ['dedicated', 2 ** 30, 1]);
  assert.ok(datastore.usedBytes > 1_000);
  assert.doesNotMatch(limitations.join('\n'), /datastore/);

  assert.equal((await owner.delete('/clusters/prod')).status, 202);
  await eventually(async () => (await owner.get('/clusters/prod')).status === 404, { withinMs: 60_000 });
  assert.deepEqual(await programsIn(dataDir), []);
  await eventually(async () => (await storesOf(dataDir)).length === 0);
});

test('a dedicated cluster of a server without etcd stays on the shared store and says so, also once etcd is there', async (t) => {
  const { owner, dataDir, binaries } = await withPrograms(t);
  await readyCluster(owner, { name: 'before', datastore: dedicated });
  await installFakes(binaries, versions, { withEtcd: true });
  const kinds = async () => (await recordsIn(dataDir)).map(({ kind }) => kind);
  const saysShared = async (name: string) =>
    /dedicated is kept; .* datastore move/.test((await owner.get(`/clusters/${name}/usage`)).body.limitations.join());
  assert.equal(await saysShared('before'), true);
  assert.deepEqual(
    (await kinds()).filter((kind) => kind === 'etcd'),
    [],
  );
  await eventually(async () => {
    const { status, body } = await owner.post('/clusters', {
      name: `after-${performance.now().toFixed(0)}`,
      tier: 'small',
      datastore: dedicated,
    });
    assert.equal(status, 201, JSON.stringify(body));
    await untilReady(owner, body.name);
    return !(await saysShared(body.name));
  });
  assert.ok((await kinds()).includes('etcd') && (await kinds()).includes('kine'));
});

test('an etcd that is killed is back without a failed request but those that it was answering', async (t) => {
  const { owner, dataDir } = await withPrograms(t, { withEtcd: true });
  await readyCluster(owner, { name: 'prod', datastore: dedicated });
  const admin = await adminOf(owner, 'prod');
  assert.equal((await kube(admin, 'POST', maps, map('seed'))).status, 201);
  const { seen, failures, stop } = askOften(admin, 'm', 2);
  await eventually(async () => seen.sent > 50);
  const killed = performance.now();
  const pid = await killProgram(dataDir, 'etcd');
  await eventually(async () => (await pidsOf(dataDir, 'etcd')).some((other) => other !== pid), { withinMs: 30_000 });
  const before = seen.sent;
  await eventually(async () => seen.sent > before + 50, { withinMs: 60_000 });
  await stop();
  assert.deepEqual(
    failures.filter(({ at }) => at - killed > 10_000),
    [],
  );
  assert.ok(failures.length <= 2, JSON.stringify(failures));
  const { items } = (await kube(admin, 'GET', maps)).body;
  assert.ok(items.length >= Math.floor(before / 4), 'what was acknowledged before is there');
});

test('a store that is 95 % full takes no writes by a policy, and takes them again once there is room', async (t) => {
  const qd = await withPrograms(t, { withEtcd: true });
  const { owner, binaries } = qd;
  await misbehave(binaries, { etcd: { storeBytes: 0.96 * 2 ** 30 } });
  await readyCluster(owner, { name: 'prod', datastore: dedicated });
  const admin = await adminOf(owner, 'prod');
  const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
  const names = async () =>
    ((await kube(admin, 'GET', policies)).body.items ?? []).map((each: { metadata: { name: string } }) => each.metadata.name);
  await eventually(async () => (await names()).includes('quarterdeck-datastore-full'), { withinMs: 60_000 });
  assert.deepEqual(
    (await kube(admin, 'GET', `${policies.replace('policies', 'policybindings')}`)).body.items.map(
      ({ spec }: { spec: { policyName: string } }) => spec.policyName,
    ),
    ['quarterdeck-datastore-full'],
  );
  await eventually(async () => (await owner.get('/clusters/prod')).body.phase === 'degraded', { withinMs: 60_000 });
  assert.match((await owner.get('/clusters/prod/usage')).body.limitations.join(), /its datastore is 95 % full; until objects are deleted/);
  assert.equal((await kube(admin, 'GET', maps)).status, 200, 'it is served all the same');

  await misbehave(binaries, {});
  await eventually(async () => (await names()).length === 0, { withinMs: 60_000 });
  await untilReady(owner, 'prod');
});

test('an etcd that refuses all writes at its quota is compacted, and takes writes again', async (t) => {
  const { owner, binaries } = await withPrograms(t, { withEtcd: true });
  await misbehave(binaries, { etcd: { storeBytes: 0.9 * 2 ** 30 } });
  await readyCluster(owner, { name: 'prod', datastore: dedicated });
  const admin = await adminOf(owner, 'prod');
  const isTaken = async (name: string) => (await kube(admin, 'POST', maps, map(name))).status === 201;
  assert.equal(await isTaken('before'), true);
  const full = { storeBytes: 2 ** 30, isFull: true, formerMember: '4242' };
  await misbehave(binaries, { etcd: { ...full, isMute: true } });
  for (let n = 0; await isTaken(`m-${n}`); n++) await sleep(100);
  // An apiserver that compacts has to write first: the server does it in its place.
  await misbehave(binaries, { etcd: full });
  await eventually(() => isTaken('after'), { withinMs: 90_000 });
  await untilReady(owner, 'prod');
});

test('a store whose files are gone is not begun anew, and its cluster says so', async (t) => {
  const { owner, dataDir } = await withPrograms(t, { withEtcd: true });
  await readyCluster(owner, { name: 'prod', datastore: dedicated });
  const [cluster] = await storesOf(dataDir);
  const dir = join(dataDir, 'clusters', 'stores', cluster!, 'etcd-1');
  assert.deepEqual(JSON.parse(await readFile(join(dir, 'members.json'), 'utf8')).members.length, 1);
  await rm(join(dir, 'm1'), { recursive: true });
  const pid = await killProgram(dataDir, 'etcd');
  await eventually(
    async () =>
      /the data of the datastore’s member m1 is gone/.test((await owner.get('/clusters/prod/usage')).body.limitations?.join() ?? ''),
    {
      withinMs: 60_000,
    },
  );
  assert.deepEqual(await pidsOf(dataDir, 'etcd'), [pid], 'none was started in its place');
  await rm(dir, { recursive: true });
  await eventually(
    async () =>
      /the data of its datastore is not on the server .* restores a backup/.test(
        (await owner.get('/clusters/prod/usage')).body.limitations?.join() ?? '',
      ),
    { withinMs: 90_000 },
  );
});
