import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';

test('a narrowed token cannot mint, enable, widen or end what exceeds it', async (t) => {
  const { owner, narrowed } = await quarterdeck(t);
  const viewer = await narrowed(owner, [{ role: 'uptime.viewer' }]);

  const wider = await viewer.post('/tokens', { name: 'wider', scope: [{ role: 'uptime.editor' }] });
  assert.equal(wider.status, 403);
  assert.match(wider.body.error, /a caller can give only what they hold/);

  const bare = await viewer.post('/tokens', { name: 'no scope named' });
  assert.equal(bare.status, 201);
  const shown = (await owner.get('/tokens')).body.tokens.find((x: { id: string }) => x.id === bare.body.id);
  assert.deepEqual(shown.scope, [{ role: 'uptime.viewer', roleName: 'Uptime viewer', resourceIds: [] }]);

  for (const change of [{ enabled: false }, { name: 'mine' }, { scope: [{ role: 'uptime.viewer' }] }]) {
    assert.equal((await viewer.patch(`/tokens/${owner.tokenId}`, change)).status, 403);
  }
  assert.equal((await viewer.delete(`/tokens/${owner.tokenId}`)).status, 403);
  assert.equal((await viewer.delete(`/tokens/${bare.body.id}`)).status, 204);
  assert.equal((await viewer.post('/uptime/services', { name: 'shop' })).status, 403);
});

test('a token stays below the token that minted it, whatever their roles become', async (t) => {
  const { owner, narrowed, url } = await quarterdeck(t);
  const role = (await owner.post('/iam/roles', { name: 'Services', permissions: ['uptime.service.read'] })).body;
  const minter = await narrowed(owner, [{ role: 'uptime.viewer' }]);
  const child = (await minter.post('/tokens', { name: 'child', scope: [{ role: role.id }] })).body;

  assert.equal((await owner.patch(`/iam/roles/${role.id}`, { permissions: ['uptime.service.write'] })).status, 200);
  const { caller } = await import('../../../../../test/harness/index.ts');
  const asChild = caller(url, child.key);
  assert.equal((await asChild.get('/uptime/services')).status, 200);
  assert.equal((await asChild.post('/uptime/services', { name: 'shop' })).status, 403);
});

test('demoting the owner of a token narrows it at once', async (t) => {
  const { owner, member } = await quarterdeck(t);
  const admin = await member(owner, 'admin');
  assert.equal((await admin.get('/iam/catalog')).status, 200);

  assert.equal((await owner.patch(`/organization/members/${admin.userId}`, { role: 'member' })).status, 200);
  assert.equal((await admin.get('/iam/catalog')).status, 403);
});
