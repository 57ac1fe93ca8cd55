import assert from 'node:assert/strict';
import { test } from 'node:test';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { urlOf } from '../../../../../test/harness/postgres.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminHere } from '../../../../admin/test/support.ts';
import { run } from '../../../../kernel/db/index.ts';
import { adminOf, kube, readyCluster, untilReady, type Way } from '../support.ts';
import { withPrograms } from './support.ts';

const apps = '/apis/apps/v1/namespaces/kube-system';
const core = '/api/v1/namespaces/kube-system';
const withinMs = 60_000;

const imageOf = async (way: Way, path: string) =>
  (await kube(way, 'GET', `${apps}/${path}`)).body.spec?.template.spec.containers.at(-1).image as string | undefined;

test('a new cluster has kube-proxy and DNS; the tenant’s edits and deletions stay, and an upgrade raises the tags alone', async (t) => {
  const env = {
    QUARTERDECK_CLUSTER_IMAGES: 'quarterdeck.example/infra/registry.k8s.io',
    QUARTERDECK_CLUSTER_IMAGES_LOGIN: 'puller:secret',
  };
  const { owner } = await withPrograms(t, { env });
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.35.8' });
  const admin = await adminOf(owner, 'prod');
  assert.equal(await imageOf(admin, 'daemonsets/kube-proxy'), 'quarterdeck.example/infra/registry.k8s.io/kube-proxy:v1.35.8');
  assert.equal(await imageOf(admin, 'deployments/coredns'), 'quarterdeck.example/infra/registry.k8s.io/coredns/coredns:v1.13.1');
  assert.equal((await kube(admin, 'GET', `${core}/services/kube-dns`)).body.spec.clusterIP, '10.96.0.10');
  const { data } = (await kube(admin, 'GET', `${core}/secrets/quarterdeck-images`)).body;
  assert.deepEqual(JSON.parse(Buffer.from(data['.dockerconfigjson'], 'base64').toString()), {
    auths: { 'quarterdeck.example': { auth: Buffer.from('puller:secret').toString('base64') } },
  });

  const daemons = (await kube(admin, 'GET', `${apps}/daemonsets/kube-proxy`)).body;
  daemons.spec.template.spec.containers.unshift({ name: 'mine', image: 'mine:v1.0.0' });
  assert.equal((await kube(admin, 'PUT', `${apps}/daemonsets/kube-proxy`, daemons)).status, 200);
  for (const path of [`${apps}/deployments/coredns`, `${core}/configmaps/coredns`])
    assert.equal((await kube(admin, 'DELETE', path)).status, 200);
  assert.equal((await owner.patch('/clusters/prod', { orchestratorVersion: 'v1.36.4' })).status, 200);
  await untilReady(owner, 'prod');
  const after = (await kube(admin, 'GET', `${apps}/daemonsets/kube-proxy`)).body;
  daemons.spec.template.spec.containers[1].image = 'quarterdeck.example/infra/registry.k8s.io/kube-proxy:v1.36.4';
  assert.deepEqual(after.spec, daemons.spec);
  for (const path of [`${apps}/deployments/coredns`, `${core}/configmaps/coredns`])
    assert.equal((await kube(admin, 'GET', path)).status, 404, 'what the tenant deleted stays deleted');
});

test('a webhook that refuses the objects leaves the cluster ready, with a limitation until they are made', async (t) => {
  const { owner, binaries, clock } = await withPrograms(t);
  await misbehave(binaries, { 'kube-apiserver': { denies: 'daemonsets' } });
  await readyCluster(owner, { name: 'prod' });
  const limitations = async (): Promise<string> => (await owner.get('/clusters/prod/usage')).body.limitations.join('\n');
  assert.match(
    await limitations(),
    /^addons: kube-proxy and CoreDNS could not be brought to v1\.36\.4.*"guard\.example" denied the request/,
  );
  await misbehave(binaries, {});
  const isMended = async () => {
    await clock.advance('61s');
    return (await limitations()) === '';
  };
  await eventually(isMended, { withinMs, everyMs: 500 });
  assert.equal(await imageOf(await adminOf(owner, 'prod'), 'daemonsets/kube-proxy'), 'registry.k8s.io/kube-proxy:v1.36.4');
});

test('a cluster from before has nothing made in it until the operator asks for it', async (t) => {
  const { owner, app, clock, connection, dataDir } = await withPrograms(t);
  const env = { QUARTERDECK_DATABASE_URL: urlOf(connection), QUARTERDECK_DATA: dataDir };
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.35.8' });
  const admin = await adminOf(owner, 'prod');
  await app.db.write((tx) => run(tx)`delete from clusters.addons`);
  for (const path of ['daemonsets/kube-proxy', 'deployments/coredns']) await kube(admin, 'DELETE', `${apps}/${path}`);
  assert.equal((await owner.patch('/clusters/prod', { orchestratorVersion: 'v1.36.4' })).status, 200);
  await untilReady(owner, 'prod');
  assert.equal(await imageOf(admin, 'deployments/coredns'), undefined);
  assert.match((await owner.get('/clusters/prod/usage')).body.limitations.join(), /addons: kube-proxy and DNS are yours to install/);

  assert.match((await adminHere(['clusters', 'addons', 'enable', 'nothing'], env)).err, /unknown cluster nothing/);
  const enabled = await adminHere(['clusters', 'addons', 'enable', 'prod'], env);
  assert.equal(enabled.code, 0, enabled.err);
  assert.match((await adminHere(['clusters', 'addons', 'enable', 'prod'], env)).err, /gets kube-proxy and CoreDNS already/);
  const isThere = async () => {
    await clock.advance('61s');
    const { addons } = JSON.parse((await adminHere(['clusters', 'addons', 'list', '--json'], env)).out);
    return addons[0].on && addons[0].version === 'v1.36.4';
  };
  await eventually(isThere, { withinMs, everyMs: 500 });
  assert.equal(await imageOf(admin, 'deployments/coredns'), 'registry.k8s.io/coredns/coredns:v1.14.2');
  assert.deepEqual((await owner.get('/clusters/prod/usage')).body.limitations, []);
});
