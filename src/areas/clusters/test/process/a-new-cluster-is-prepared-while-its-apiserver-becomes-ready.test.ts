import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { row } from '../../../../kernel/db/index.ts';
import { Sql } from '../../../../kernel/sql.ts';
import { adminOf, kube, untilReady } from '../support.ts';
import { pidsOf, schemasOf, withPrograms } from './support.ts';

const ManyRow = Type.Object({ many: Type.Integer() });

test('kubeadm’s objects are created while a new apiserver becomes ready; controllers wait until it is', async (t) => {
  const { owner, app, dataDir, binaries } = await withPrograms(t);
  await misbehave(binaries, { 'kube-apiserver': { readyz500: true } });
  assert.equal((await owner.post('/clusters', { name: 'prod', tier: 'small' })).status, 201);
  await eventually(async () => (await pidsOf(dataDir, 'kube-apiserver')).length === 1, { withinMs: 60_000 });
  const [schema] = await schemasOf(app);
  const isKept = async (name: string) => {
    const piece = new Sql([`select count(*)::int as many from ${schema}.kine where name like `, ''], [`%/${name}`]);
    return (await app.db.read((tx) => row(tx, ManyRow)`${piece}`))!.many > 0;
  };
  for (const name of ['quarterdeck-system', 'kubeadm-config', 'kubelet-config', 'cluster-info'])
    await eventually(() => isKept(name), { withinMs: 60_000 });
  assert.notEqual((await owner.get('/clusters/prod')).body.phase, 'ready');
  assert.deepEqual(await pidsOf(dataDir, 'kube-controller-manager'), []);

  await misbehave(binaries, {});
  await untilReady(owner, 'prod');
  assert.equal((await pidsOf(dataDir, 'kube-controller-manager')).length, 1);
  assert.equal((await kube(await adminOf(owner, 'prod'), 'GET', '/api/v1/namespaces/kube-public/configmaps/cluster-info')).status, 200);
});
