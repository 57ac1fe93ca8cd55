import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { rows } from '../../../../kernel/db/index.ts';
import { makeAuthority, makeLeaf, newKey } from '../../engine/issue.ts';
import { adminOf, joinNode, joinToken, kube, readyCluster } from '../support.ts';

test('a node certificate is recorded only if the cluster’s authority signed it', async (t) => {
  const { owner, app } = await quarterdeck(t);
  await readyCluster(owner, { name: 'prod' });
  const admin = await adminOf(owner, 'prod');
  await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');

  const own = { ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' };
  const forged = makeLeaf(own, { subject: { commonName: 'system:node:ghost', organizations: ['system:nodes'] }, usage: 'client' });
  const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
  const [first] = (await kube(admin, 'GET', requests)).body.items;
  const shown = { ...first, status: { ...first.status, certificate: Buffer.from(forged.certificate).toString('base64') } };
  assert.equal((await kube(admin, 'PUT', `${requests}/${first.metadata.name}/status`, shown)).status, 200);

  // Deregistering reads the requests again: there is no such node, and nothing is kept for it.
  assert.equal((await owner.delete('/clusters/prod/nodes/ghost')).status, 404);
  const noted = await app.db.read(
    (tx) => rows(tx, Type.Object({ node: Type.String() }))`select distinct node from clusters.node_certificate`,
  );
  assert.deepEqual(noted, [{ node: 'worker-1' }]);
});
