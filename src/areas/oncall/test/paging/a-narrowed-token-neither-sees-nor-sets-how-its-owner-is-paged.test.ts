import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller, quarterdeck } from '../../../../../test/harness/index.ts';

test('a narrowed token neither sees nor sets how its owner is paged', async (t) => {
  const { owner, narrowed, url } = await quarterdeck(t);
  const rules = [{ channel: 'email', delaySeconds: 60 }];
  assert.equal((await owner.put('/oncall/me/settings', { phone: '+33612345678', rules })).status, 200);

  const viewer = await narrowed(owner, [{ role: 'registry.viewer' }]);
  const everything = await narrowed(owner, [{ role: 'owner' }]); // all roles there are, and still not the person
  const child = caller(url, (await viewer.post('/tokens', { name: 'child' })).body.key);
  for (const who of [viewer, everything, child]) {
    const seen = await who.get('/oncall/me/settings');
    assert.equal(seen.status, 403);
    assert.equal(
      seen.body.error,
      'this is about the person behind the token, and the token is narrowed; use one that is not, minted without a scope',
    );
    assert.equal((await who.put('/oncall/me/settings', { rules: [{ channel: 'email', delaySeconds: 86_400 }] })).status, 403);
  }

  const whole = caller(url, (await owner.post('/tokens', { name: 'whole' })).body.key);
  assert.partialDeepStrictEqual((await whole.get('/oncall/me/settings')).body, { email: owner.email, phone: '+33612345678', rules });
});

test('a token that is narrowed later loses its owner’s settings at once, and so does what it minted', async (t) => {
  const { owner, url } = await quarterdeck(t);
  const { id, key } = (await owner.post('/tokens', { name: 'minter' })).body;
  const minter = caller(url, key);
  const child = caller(url, (await minter.post('/tokens', { name: 'child' })).body.key);
  for (const who of [minter, child]) assert.equal((await who.get('/oncall/me/settings')).status, 200);

  assert.equal((await owner.patch(`/tokens/${id}`, { scope: [{ role: 'oncall.admin' }] })).status, 200);
  for (const who of [minter, child]) assert.equal((await who.get('/oncall/me/settings')).status, 403);
});
