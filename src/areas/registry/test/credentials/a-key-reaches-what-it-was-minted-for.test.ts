import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { makeLastUsed } from '../../../../identity/last-used.ts';
import { touchKeys } from '../../store/keys.ts';
import { basic, claimsOf, tokenFor } from '../credentials.ts';

test('a key reaches what it was minted for, and nothing beside it', async (t) => {
  const { owner, url, app, clock, organization, narrowed, member } = await quarterdeck(t);
  for (const slug of ['acme', 'beta']) assert.equal((await owner.post('/registry/registries', { slug })).status, 201);
  const at = '/registry/registries/acme/keys';
  const key = (await owner.post(at, { name: 'narrow', mode: 'readwrite', repoPrefixes: ['team/app', 'libs/'] })).body;
  const access = async (scopes: string[]) =>
    claimsOf((await tokenFor(url, basic(key.keyId, key.secret), scopes)).body.token).access.map((a: { name: string }) => a.name);
  const all = ['team/app', 'team/app/web', 'team/application', 'team', 'libs', 'libs/a'].map((r) => `repository:acme/${r}:pull`);
  assert.deepEqual(await access([...all, 'repository:beta/team/app:pull']), ['acme/team/app', 'acme/team/app/web', 'acme/libs/a']);

  for (const repoPrefixes of [[''], ['/team'], ['Team'], ['team//app'], ['../x'], ['acme.'], []]) {
    assert.equal((await owner.post(at, { name: 'bad', mode: 'pull', repoPrefixes })).status, 400, JSON.stringify(repoPrefixes));
  }
  assert.equal((await owner.post(at, { name: 'bad', mode: 'push' })).status, 400);

  await t.test('lastUsedAt is written once a minute at most', async () => {
    const used = async () => (await owner.get(at)).body.keys[0].lastUsedAt as string | undefined;
    const note = async () => {
      const marks = makeLastUsed(app, touchKeys, 3_600_000); // like another process, which has nothing cached
      marks.used(key.keyId);
      await marks.stop();
      return used();
    };
    const first = await note();
    assert.ok(first);
    await clock.advance('30s');
    assert.equal(await note(), first);
    await clock.advance('31s');
    assert.notEqual(await note(), first);
  });

  await t.test('another organization sees and touches nothing', async () => {
    const stranger = await organization('strangers');
    assert.equal((await stranger.get(at)).status, 404);
    assert.equal((await stranger.post(at, { name: 'x', mode: 'pull' })).status, 404);
    assert.equal((await stranger.delete(`${at}/${key.keyId}`)).status, 404);
    assert.equal((await stranger.post('/registry/login-credentials', { registry: 'acme' })).status, 404);
    assert.equal((await stranger.post('/registry/registries', { slug: 'acme' })).status, 409, 'slugs are unique everywhere');
    await stranger.post('/registry/registries', { slug: 'theirs' });
    const strangerLogin = (await stranger.post('/registry/login-credentials')).body;
    const { token } = (
      await tokenFor(url, basic(strangerLogin.username, strangerLogin.password), [
        'repository:acme/team/app:pull',
        'repository:theirs/x:pull',
      ])
    ).body;
    assert.deepEqual(
      claimsOf(token).access.map((a: { name: string }) => a.name),
      ['theirs/x'],
    );
    assert.equal(
      (
        await fetch(`${url}/v2/acme/team/app/tags/list`, {
          headers: { authorization: basic(strangerLogin.username, strangerLogin.password) },
        })
      ).status,
      403,
    );
    assert.equal((await owner.delete(`/registry/login-credentials/${strangerLogin.username}`)).status, 404);
  });

  await t.test('a login holds no more than its owner, at mint and ever after', async () => {
    const { resources } = (await owner.get('/tokens/scope-options')).body as { resources: { id: string; name: string }[] };
    const idOf = (name: string) => resources.find((r) => r.name === name)!.id;
    const viewer = await narrowed(owner, [
      { role: 'registry.viewer', resourceIds: [idOf('acme')] },
      { role: 'registry.editor', resourceIds: [idOf('beta')] },
    ]);
    const login = (await viewer.post('/registry/login-credentials')).body;
    assert.deepEqual(login.scope, [
      { registry: 'beta', mode: 'readwrite' },
      { registry: 'acme', mode: 'pull' },
    ]);

    const only = await narrowed(owner, [{ role: 'registry.viewer', resourceIds: [idOf('acme')] }]);
    assert.equal(
      (await only.post('/registry/login-credentials', { registry: 'beta' })).status,
      403,
      'of the organization, but not reached',
    );
    assert.equal((await only.delete(`/registry/login-credentials/${login.username}`)).status, 403, 'it reaches more than this token');

    const colleague = await member(owner, 'admin');
    const colleagueLogin = (await colleague.post('/registry/login-credentials', { registry: 'acme' })).body;
    const may = async () => {
      const { status, body } = await tokenFor(url, basic(colleagueLogin.username, colleagueLogin.password), [
        'repository:acme/x:pull,push',
      ]);
      return status === 200 ? claimsOf(body.token).access[0].actions : status;
    };
    assert.deepEqual(await may(), ['pull', 'push']);
    await owner.patch(`/organization/members/${colleague.userId}`, { role: 'member' });
    assert.equal(await may(), 401, 'a member without a role reaches no registry');
    await owner.post('/iam/grants', { subject: colleague.userId, role: 'registry.viewer' });
    assert.deepEqual(await may(), ['pull']);
    await owner.delete(`/organization/members/${colleague.userId}`);
    assert.equal(await may(), 401);
  });

  await t.test('keys of a deleted registry are gone with it', async () => {
    const doomed = (await owner.post('/registry/registries/beta/keys', { name: 'x', mode: 'pull' })).body;
    assert.equal((await tokenFor(url, basic(doomed.keyId, doomed.secret), [])).status, 200);
    assert.equal((await owner.delete('/registry/registries/beta')).status, 204);
    assert.equal((await tokenFor(url, basic(doomed.keyId, doomed.secret), [])).status, 401);
    await clock.advance('1s');
  });
});
