import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { clusterByName } from '../../store/clusters.ts';
import { refuseCertificates } from '../../store/nodes.ts';
import { adminOf, askCertificate, joinNode, joinToken, kube, nodeKeys, nodeSubject, readyCluster, type Way } from '../support.ts';

const refused = (way: Way) =>
  eventually(async () => (await kube(way, 'GET', '/api/v1/services').catch(() => undefined))?.status === 401, { withinMs: 4_000 });

test('a certificate requested during deregistration is refused like the requesting one', async (t) => {
  const { owner, app } = await quarterdeck(t);
  await readyCluster(owner, { name: 'prod' });
  const { id } = (await app.db.read((tx) => clusterByName(tx, owner.orgId, 'prod')))!;
  const admin = await adminOf(owner, 'prod');
  const { way } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  // The moment between the commit and the shard's next tick: the shard is not woken.
  await app.db.write((tx) => refuseCertificates(tx, id, 'worker-1'));
  const keys = nodeKeys(nodeSubject('worker-1'));
  const given = await askCertificate(way, keys).catch(() => undefined);
  await refused(way);
  if (given && 'certificate' in given) await refused({ server: way.server, ca: way.ca, cert: given.certificate, key: keys.key });
});

test('a node with finalizers, or without a Node object, can be deregistered', async (t) => {
  const { owner } = await quarterdeck(t);
  await readyCluster(owner, { name: 'prod' });
  const admin = await adminOf(owner, 'prod');
  const { way: sticky } = await joinNode(admin, await joinToken(owner, 'prod'), 'sticky');
  const patch = 'application/merge-patch+json';
  const kept = { metadata: { finalizers: ['example.com/stay'] } };
  assert.equal((await kube(sticky, 'PATCH', '/api/v1/nodes/sticky', kept, patch)).status, 200);
  const { way: hidden } = await joinNode(admin, await joinToken(owner, 'prod'), 'hidden');
  assert.equal((await kube(admin, 'DELETE', '/api/v1/nodes/hidden')).status, 200);
  // Text that an administrator wrote into a request is not a certificate, and is ignored.
  const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
  const [first] = (await kube(admin, 'GET', requests)).body.items;
  const garbled = { ...first, status: { ...first.status, certificate: Buffer.from('nothing').toString('base64') } };
  assert.equal((await kube(admin, 'PUT', `${requests}/${first.metadata.name}/status`, garbled)).status, 200);

  for (const name of ['sticky', 'hidden']) assert.equal((await owner.delete(`/clusters/prod/nodes/${name}`)).status, 204);
  assert.deepEqual((await owner.get('/clusters/prod/nodes')).body.nodes, []);
  for (const way of [sticky, hidden]) await refused(way);
  assert.equal((await owner.delete('/clusters/prod/nodes/hidden')).status, 404);
});
