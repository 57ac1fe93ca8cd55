import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { removeAccess } from '../../tasks.ts';
import { adminOf, kube, readyCluster } from '../support.ts';

test('a user’s client configuration ends with the right to it; those of other users do not', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  await readyCluster(owner, { name: 'prod' });
  const admin = await qd.member(owner, 'admin', 'anna@example.com');
  const [hers, own] = [await adminOf(admin, 'prod'), await adminOf(owner, 'prod')];
  const whoami = (way: typeof own) =>
    kube(way, 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
    });
  const me = await whoami(hers);
  assert.equal(me.status, 201, JSON.stringify(me.body));
  assert.match(me.body.status.userInfo.username, /^system:serviceaccount:quarterdeck-system:person-/);
  assert.notEqual(me.body.status.userInfo.username, (await whoami(own)).body.status.userInfo.username);
  assert.equal((await kube(hers, 'GET', '/api/v1/secrets')).status, 200);

  await qd.perform(removeAccess);
  assert.equal((await kube(hers, 'GET', '/api/v1/nodes')).status, 200, 'she still may');
  assert.equal((await owner.delete(`/organization/members/${admin.userId}`)).status, 204);
  await qd.perform(removeAccess);
  assert.equal((await kube(hers, 'GET', '/api/v1/nodes')).status, 401);
  assert.equal((await kube(own, 'GET', '/api/v1/nodes')).status, 200);

  // What somebody made to last longer ends when they stop fetching their own.
  const account = /person-[a-z0-9-]+/.exec((await whoami(own)).body.status.userInfo.username)![0];
  const long = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 86_400 } };
  const minted = await kube(own, 'POST', `/api/v1/namespaces/quarterdeck-system/serviceaccounts/${account}/token`, long);
  assert.equal(minted.status, 201, JSON.stringify(minted.body));
  await qd.clock.advance('66m');
  const lasting = { ...own, token: minted.body.status.token };
  assert.equal((await kube(lasting, 'GET', '/api/v1/nodes')).status, 200);
  await qd.perform(removeAccess);
  assert.equal((await kube(lasting, 'GET', '/api/v1/nodes')).status, 401);
  assert.equal((await kube(await adminOf(owner, 'prod'), 'GET', '/api/v1/nodes')).status, 200);
});
