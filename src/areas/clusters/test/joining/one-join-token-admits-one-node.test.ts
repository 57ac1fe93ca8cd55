import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { adminOf, askCertificate, joinNode, joinToken, kube, nodeKeys, nodeSubject, readyCluster } from '../support.ts';

test('of two nodes that join with one token at once, one joins and the other is told why not', async (t) => {
  const { owner } = await quarterdeck(t);
  await readyCluster(owner, { name: 'prod' });
  const admin = await adminOf(owner, 'prod');
  const minted = await owner.post('/clusters/prod/join-tokens');
  assert.equal(minted.status, 201, JSON.stringify(minted.body));
  const { joinToken: token, joinCommand, expiresIn, cluster } = minted.body;
  assert.deepEqual([expiresIn, cluster], [900, 'prod']);
  assert.match(token, /^[a-z0-9]{6}\.[a-z0-9]{16}$/);
  assert.equal(
    joinCommand.startsWith(`kubeadm join ${new URL(admin.server).host} --token ${token} --discovery-token-ca-cert-hash sha256:`),
    true,
  );

  const way = { server: admin.server, ca: admin.ca, token };
  const given = await Promise.all(
    ['one', 'two'].map(async (name) => ({ name, got: await askCertificate(way, nodeKeys(nodeSubject(name))) })),
  );
  const joined = given.filter(({ got }) => 'certificate' in got);
  const denied = given.filter(({ got }) => 'denied' in got);
  assert.equal(joined.length, 1, JSON.stringify(given));
  assert.equal((denied[0]!.got as { denied: string }).denied, 'JoinTokenAlreadyUsed');

  // And later neither.
  const late = await askCertificate(way, nodeKeys(nodeSubject('three')));
  assert.equal('denied' in late && late.denied, 'JoinTokenAlreadyUsed');

  // A whole join shows in the list, with its version.
  const { way: node } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1', 'v1.35.2');
  assert.deepEqual((await owner.get('/clusters/prod/nodes')).body, { nodes: [{ name: 'worker-1', ready: true, agentVersion: 'v1.35.2' }] });
  assert.equal((await kube(node, 'GET', '/api/v1/nodes/worker-1')).status, 200);

  // A name that is ready is not given to another machine; the token is not used up by that.
  const again = await joinToken(owner, 'prod');
  const taken = await askCertificate({ ...way, token: again }, nodeKeys(nodeSubject('worker-1')));
  assert.equal('denied' in taken && taken.denied, 'NodeNameTaken');
  const other = await askCertificate({ ...way, token: again }, nodeKeys(nodeSubject('worker-2')));
  assert.ok('certificate' in other, JSON.stringify(other));

  // A node renews its own certificate, and no other's.
  const renewed = await askCertificate(node, nodeKeys(nodeSubject('worker-1')));
  assert.ok('certificate' in renewed, JSON.stringify(renewed));
  const stolen = await askCertificate(node, nodeKeys(nodeSubject('worker-2')));
  assert.ok('denied' in stolen, JSON.stringify(stolen));

  // It gets a serving certificate for its own addresses only.
  const serving = { signer: 'kubernetes.io/kubelet-serving', usages: ['digital signature', 'server auth'] };
  const own = await askCertificate(node, nodeKeys(nodeSubject('worker-1'), { ip: ['10.1.2.3'], dns: ['worker-1'] }), serving);
  assert.ok('certificate' in own, JSON.stringify(own));
  const metadata = await askCertificate(node, nodeKeys(nodeSubject('worker-1'), { ip: ['169.254.169.254'] }), serving);
  assert.equal('denied' in metadata && metadata.denied, 'NamesOfOthers');
});
