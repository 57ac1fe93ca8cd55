import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { adminOf, askCertificate, joinToken, kube, nodeKeys, nodeSubject, readyCluster, untilReady } from '../support.ts';

test('a tier limits the number of nodes; a refused node’s token is still valid after a resize', async (t) => {
  const { owner } = await quarterdeck(t);
  await readyCluster(owner, { name: 'prod' });
  const admin = await adminOf(owner, 'prod');
  for (let n = 0; n < 10; n++)
    assert.equal((await kube(admin, 'POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: `n${n}` } })).status, 201);
  const way = { ...admin, token: await joinToken(owner, 'prod') };
  const refused = await askCertificate(way, nodeKeys(nodeSubject('one-too-many')));
  assert.equal('denied' in refused && refused.denied, 'TierNodeLimit', JSON.stringify(refused));
  assert.equal((await owner.patch('/clusters/prod', { tier: 'medium' })).status, 200);
  await untilReady(owner, 'prod');
  assert.ok('certificate' in (await askCertificate(way, nodeKeys(nodeSubject('one-too-many')))));
  // What is no node is denied whatever the token.
  const master = await askCertificate(
    { ...admin, token: await joinToken(owner, 'prod') },
    nodeKeys({ cn: 'system:node:x', o: ['system:masters'] }),
  );
  assert.ok('denied' in master, JSON.stringify(master));
});
