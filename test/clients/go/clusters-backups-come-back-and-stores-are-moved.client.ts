import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Type from 'typebox';
import { answers, clustersOf, firstEvent, putMap, take } from '../../../src/areas/clusters/test/backups/support.ts';
import { adminOf, kube, readyCluster, untilReady } from '../../../src/areas/clusters/test/support.ts';
import { row } from '../../../src/kernel/db/index.ts';
import { type Quarterdeck, quarterdeck } from '../../harness/index.ts';
import { eventually } from '../../harness/process.ts';
import { assertNothingLost, steadyLoad } from './clusters-support.ts';
import { binaries, patience } from './kubernetes-support.ts';

const maps = '/api/v1/namespaces/default/configmaps';

/** A folder with Kubernetes' programs, and etcd once it is asked for: a cluster that asks for a dedicated datastore before is as one of a release
 *  that had none. */
async function withoutEtcd(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), 'qdk-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  for (const name of ['kine', 'v1.36.4']) await symlink(join(binaries, name), join(dir, name));
  const addEtcd = () => Promise.all(['etcd', 'etcdutl'].map((name) => symlink(join(binaries, name), join(dir, name))));
  return { dir, addEtcd };
}

const CheckRow = Type.Object({
  checked_at: Type.Union([Type.String(), Type.Null()]),
  check_failure: Type.Union([Type.String(), Type.Null()]),
});

/** Until the scratch control plane of the check has listed every object. */
async function untilChecked({ app, clock }: Quarterdeck, id: string, objects: number) {
  await clock.advance('25h');
  const found = await eventually(
    () =>
      app.db.read(
        (tx) => row(tx, CheckRow)`select checked_at, check_failure from clusters.backup where id = ${id} and checked_at is not null`,
      ),
    { withinMs: 300_000, everyMs: 500 },
  );
  assert.equal(found.check_failure, null, `of ${objects} objects`);
}

for (const store of ['kine', 'etcd'] as const)
  test(`a backup of ${store} under load is checked, and comes back with every write before it`, { timeout: 1_200_000 }, async (t) => {
    const qd = await quarterdeck(t, { env: { QUARTERDECK_CLUSTER_BINARIES: binaries } });
    const { owner } = qd;
    const admin = clustersOf(qd);
    const datastore = store === 'etcd' ? { mode: 'dedicated', storageGiB: 1 } : { mode: 'shared' };
    await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4', datastore });
    const way = await adminOf(owner, 'prod');
    await putMap(way, 'seed');
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'sealed' }, stringData: { word: 'hunter2' } };
    assert.equal((await kube(way, 'POST', '/api/v1/namespaces/default/secrets', secret)).status, 201);
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'tabs.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'tabs', singular: 'tab', kind: 'Tab' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    };
    assert.equal((await kube(way, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd)).status, 201);
    const tab = { apiVersion: 'example.com/v1', kind: 'Tab', metadata: { name: 'one' } };
    await eventually(async () => (await kube(way, 'POST', '/apis/example.com/v1/namespaces/default/tabs', tab)).status === 201, patience);

    const load = steadyLoad(way, 'm');
    t.after(load.stop);
    await load.go(5_000);
    const before = new Map(load.acknowledged);
    const began = performance.now();
    const id = await take(admin);
    t.diagnostic(
      `${store}: a backup under load took ${((performance.now() - began) / 1000).toFixed(1)} s, with ${before.size} creations before it`,
    );
    await load.go(2_000);
    await load.stop();
    assert.deepEqual(load.failures, [], 'no request failed while it was made');
    const { objects } = JSON.parse((await admin('backups', 'list', 'prod', '--json')).out).backups[0];
    const { resourceVersion: version } = (await kube(way, 'GET', maps)).body.metadata;
    const checkedAfter = performance.now();
    await untilChecked(qd, id, objects);
    t.diagnostic(
      `${store}: restored into a control plane of its own and counted (${objects} objects) in ${((performance.now() - checkedAfter) / 1000).toFixed(1)} s`,
    );
    await untilReady(owner, 'prod');

    // The first client configuration is too old by now, by the clock that was moved.
    const later = await adminOf(owner, 'prod');
    await putMap(later, 'after');
    const second = steadyLoad(later, 'r');
    const restoring = performance.now();
    const restored = await admin('restore', 'prod', '--at', id, '--yes');
    t.diagnostic(`${store}: restored under load in ${((performance.now() - restoring) / 1000).toFixed(1)} s`);
    assert.equal(restored.code, 0, restored.err);
    await second.stop();
    const again = await adminOf(owner, 'prod');
    await answers(again);
    const items = (await kube(again, 'GET', maps)).body.items;
    await assertNothingLost(async () => items, before);
    assert.ok(!items.some(({ metadata }: { metadata: { name: string } }) => metadata.name === 'after'));
    assert.equal((await firstEvent(again, `${maps}?watch=1&resourceVersion=${version}`)).object.code, 410);
    const kept = await kube(again, 'GET', '/api/v1/namespaces/default/secrets/sealed');
    assert.equal(Buffer.from(kept.body.data.word, 'base64').toString(), 'hunter2');
    assert.equal((await kube(again, 'GET', '/apis/example.com/v1/namespaces/default/tabs/one')).status, 200);
    const made = await putMap(again, 'new');
    assert.ok(Number(made.metadata.resourceVersion) > Number(version));
  });

test('a dedicated cluster on kine is moved to an etcd under load, and no acknowledged write is lost', { timeout: 900_000 }, async (t) => {
  const { dir, addEtcd } = await withoutEtcd(t);
  const qd = await quarterdeck(t, { env: { QUARTERDECK_CLUSTER_BINARIES: dir } });
  const { owner } = qd;
  const admin = clustersOf(qd);
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4', datastore: { mode: 'dedicated', storageGiB: 1 } });
  const way = await adminOf(owner, 'prod');
  await putMap(way, 'seed');
  const { resourceVersion: version } = (await kube(way, 'GET', maps)).body.metadata;
  await addEtcd();
  const load = steadyLoad(way, 'm');
  t.after(load.stop);
  await load.go(3_000);
  const began = performance.now();
  let moved = await admin('datastore', 'move', 'prod', '--yes');
  // Its server says within seconds that it has etcd by now.
  if (/no server with the role shard has etcd/.test(moved.err)) {
    await load.go(10_000);
    moved = await admin('datastore', 'move', 'prod', '--yes');
  }
  const tookMs = performance.now() - began;
  assert.equal(moved.code, 0, moved.err);
  await load.go(3_000);
  await load.stop();
  t.diagnostic(
    `moved in ${(tookMs / 1000).toFixed(1)} s: ${load.figures.sent} requests, ${load.failures.length} failed ${JSON.stringify(load.failures.slice(0, 3))}; slowest ${load.figures.slowestMs.toFixed(0)} ms`,
  );
  await untilReady(owner, 'prod');
  const items = (await kube(way, 'GET', maps)).body.items;
  await assertNothingLost(async () => items, load.acknowledged);
  const made = await putMap(way, 'new');
  assert.ok(Number(made.metadata.resourceVersion) > Number(version) + 1e9, 'no version comes twice');
});
