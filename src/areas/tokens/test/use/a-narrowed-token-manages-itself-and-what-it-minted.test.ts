import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller, quarterdeck } from '../../../../../test/harness/index.ts';

test('a narrowed token sees, changes and ends itself and what it minted, and no other', async (t) => {
  const { owner, narrowed, url } = await quarterdeck(t);
  const scope = [{ role: 'uptime.viewer' }];
  const viewer = await narrowed(owner, scope);
  const twin = await narrowed(owner, scope); // holds no more, and is still none of its business
  const child = (await viewer.post('/tokens', { name: 'child' })).body;
  const grandchild = (await caller(url, child.key).post('/tokens', { name: 'grandchild' })).body;
  const seenBy = async (key: string) => (await caller(url, key).get('/tokens')).body.tokens.map((x: { id: string }) => x.id);

  assert.deepEqual(await seenBy(viewer.key), [grandchild.id, child.id, viewer.tokenId]);
  assert.deepEqual(await seenBy(child.key), [grandchild.id, child.id]);
  assert.deepEqual((await viewer.get('/tokens?limit=2')).body.tokens.length, 2);
  const own = await seenBy(owner.key);
  for (const id of [viewer.tokenId, twin.tokenId, child.id, grandchild.id, owner.tokenId]) assert.ok(own.includes(id));

  await owner.patch(`/tokens/${twin.tokenId}`, { enabled: false });
  for (const id of [twin.tokenId, owner.tokenId]) {
    for (const change of [{}, { enabled: true }, { name: 'mine' }, { scope }]) {
      const refused = await viewer.patch(`/tokens/${id}`, change);
      assert.equal(refused.status, 403, JSON.stringify(change));
      assert.equal(refused.body.error, 'this token is narrowed, and did not mint the other one; use a token that is not narrowed');
    }
    assert.equal((await viewer.delete(`/tokens/${id}`)).status, 403);
  }
  assert.equal((await twin.get('/me')).status, 401); // still off
  assert.equal((await caller(url, child.key).patch(`/tokens/${viewer.tokenId}`, { name: 'mine' })).status, 403); // nor upwards

  assert.equal((await viewer.patch(`/tokens/${child.id}`, { enabled: false })).status, 200);
  assert.equal((await caller(url, grandchild.key).get('/me')).status, 401);
  assert.equal((await viewer.patch(`/tokens/${child.id}`, { enabled: true })).status, 200);
  assert.equal((await viewer.patch(`/tokens/${viewer.tokenId}`, { scope: [{ role: 'uptime.editor' }] })).status, 403);
  assert.equal((await viewer.delete(`/tokens/${grandchild.id}`)).status, 204);
  assert.equal((await viewer.delete(`/tokens/${viewer.tokenId}`)).status, 204); // a leaked token may end itself
  for (const key of [viewer.key, child.key, grandchild.key]) assert.equal((await caller(url, key).get('/me')).status, 401);
});

test('a narrowed token knows whose it is, and what anybody of the organization knows', async (t) => {
  const { owner, narrowed } = await quarterdeck(t);
  const viewer = await narrowed(owner, [{ role: 'uptime.viewer' }]);
  assert.equal((await viewer.get('/me')).body.id, owner.userId);
  for (const path of ['/organization', '/organization/contacts', '/organization/members', '/iam/permissions', '/iam/roles'])
    assert.equal((await viewer.get(path)).status, 200, path);
  const { roles } = (await viewer.get('/tokens/scope-options')).body;
  assert.deepEqual(roles.map((r: { id: string }) => r.id).sort(), ['member', 'uptime.viewer']);
  assert.equal((await viewer.delete(`/organization/members/${owner.userId}`)).status, 403); // to leave is the person's
});
