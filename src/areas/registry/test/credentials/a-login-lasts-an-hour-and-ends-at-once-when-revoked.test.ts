import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { basic, claimsOf, tokenFor } from '../credentials.ts';

test('a login lasts an hour and ends at once when it is revoked', async (t) => {
  const { owner, url, clock } = await quarterdeck(t);
  assert.equal((await owner.post('/registry/login-credentials')).status, 403, 'nothing to reach');
  await owner.post('/registry/registries', { slug: 'acme' });
  await owner.post('/registry/registries', { slug: 'beta' });

  const login = await owner.post('/registry/login-credentials', {});
  assert.equal(login.status, 201);
  const { username, password, registry, scope } = login.body;
  assert.equal(registry, new URL(url).host);
  assert.deepEqual(scope, [
    { registry: 'beta', mode: 'readwrite' },
    { registry: 'acme', mode: 'readwrite' },
  ]);

  const both = await tokenFor(url, basic(username, password), [
    'repository:acme/app:pull,push',
    'repository:beta/x/y:*',
    'repository:other/app:pull',
  ]);
  assert.equal(both.status, 200);
  assert.equal(both.body.expires_in >= 60, true);
  assert.deepEqual(claimsOf(both.body.token).access, [
    { type: 'repository', name: 'acme/app', actions: ['pull', 'push'] },
    { type: 'repository', name: 'beta/x/y', actions: ['pull', 'push', 'delete'] },
  ]);
  assert.equal((await tokenFor(url, basic('rl_somebody', password), [])).status, 401, 'the user name must be the key’s');

  await clock.advance('59m');
  assert.equal((await tokenFor(url, basic(username, password), [])).status, 200);
  await clock.advance('2m');
  assert.equal((await tokenFor(url, basic(username, password), [])).status, 401, 'over after an hour');
  assert.equal((await owner.delete(`/registry/login-credentials/${username}`)).status, 404, 'nothing left to end');

  const again = (await owner.post('/registry/login-credentials', { registry: 'acme', pullOnly: true })).body;
  assert.deepEqual(again.scope, [{ registry: 'acme', mode: 'pull' }]);
  const pull = await tokenFor(url, basic(again.username, again.password), ['repository:acme/app:pull,push', 'repository:beta/app:pull']);
  assert.deepEqual(claimsOf(pull.body.token).access, [{ type: 'repository', name: 'acme/app', actions: ['pull'] }]);

  assert.equal((await owner.delete(`/registry/login-credentials/${again.username}`)).status, 204);
  assert.equal((await tokenFor(url, basic(again.username, again.password), [])).status, 401);
  assert.equal((await owner.delete(`/registry/login-credentials/${again.username}`)).status, 404);
});
