import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oidcIssuer } from '../../../../../test/fakes/oidc-issuer.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { now } from '../../../../kernel/time.ts';
import { basic, claimsOf, tokenFor } from '../credentials.ts';

test('CI trades its ID token for a key that is listed, narrow and short-lived', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'oidc=127.0.0.0/8' } });
  const { owner, anonymous, url, clock, app } = qd;
  const issuer = await oidcIssuer(t, async () => Date.parse(await app.db.read(now)));
  await owner.post('/registry/registries', { slug: 'acme' });
  const rules = '/registry/registries/acme/oidc-rules';
  const rule = await owner.post(rules, {
    issuer: issuer.url,
    audience: 'quarterdeck',
    subjectPattern: 'repo:acme/*:ref:refs/heads/main',
    mode: 'readwrite',
    repoPrefixes: ['team'],
  });
  assert.equal(rule.status, 201);
  assert.equal(rule.body.name, 'repo:acme/*:ref:refs/heads/main');

  const exchange = (subject_token: string, more: object = {}) =>
    anonymous.post('/registry/oidc/token', { subject_token, audience: 'acme', ...more });
  const given = await exchange(await issuer.token());
  assert.equal(given.status, 200, JSON.stringify(given.body));
  assert.deepEqual([given.body.mode, given.body.repoPrefixes, given.body.expires_in], ['readwrite', ['team'], 3600]);
  assert.equal(given.body.registry, new URL(url).host);

  const allowed = await tokenFor(url, basic(given.body.username, given.body.password), [
    'repository:acme/team/app:pull,push',
    'repository:acme/teams/app:pull',
  ]);
  assert.deepEqual(claimsOf(allowed.body.token).access, [{ type: 'repository', name: 'acme/team/app', actions: ['pull', 'push'] }]);

  const bearer = await fetch(`${url}/v2/acme/team/app/tags/list`, { headers: { authorization: `Bearer ${given.body.access_token}` } });
  assert.equal(bearer.status, 404, 'in, though there is nothing yet');

  const [listed] = (await owner.get('/registry/registries/acme/keys')).body.keys;
  assert.deepEqual([listed.keyId, listed.mintedVia, listed.mode], [given.body.keyId, 'oidc', 'readwrite']);

  await t.test('a form as RFC 8693 has it, asking for less', async () => {
    const form = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: await issuer.token({}, { alg: 'ES256' }),
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      audience: 'acme',
      scope: 'pull',
      resource: 'something of another version',
    });
    const answer = await fetch(`${url}/api/v1/registry/oidc/token`, { method: 'POST', body: form });
    assert.equal(answer.status, 200);
    assert.equal(((await answer.json()) as { mode: string }).mode, 'pull');
  });

  await t.test('docker login -u oidc finds the same key again, also when the ID token is over', async () => {
    const idToken = await issuer.token({ jti: 'docker' });
    const login = await tokenFor(url, basic('oidc', idToken), []);
    assert.equal(login.status, 200);
    const open = await fetch(`${url}/v2/`, { headers: { authorization: `Bearer ${login.body.token}` } });
    assert.equal(open.status, 200);
    const before = (await owner.get('/registry/registries/acme/keys')).body.keys.length;
    const scope = ['repository:acme/team/app:pull,push'];
    const asks = await Promise.all([1, 2, 3].map(() => tokenFor(url, basic('oidc', idToken), scope)));
    assert.deepEqual(
      asks.map((a) => a.status),
      [200, 200, 200],
    );
    assert.deepEqual(claimsOf(asks[0]!.body.token).access[0].actions, ['pull', 'push']);
    assert.equal((await owner.get('/registry/registries/acme/keys')).body.keys.length, before + 1, 'one key for one token');

    await clock.advance('20m');
    assert.equal((await tokenFor(url, basic('oidc', idToken), scope)).status, 200, 'a build that takes long');
    await clock.advance('41m');
    assert.equal((await tokenFor(url, basic('oidc', idToken), scope)).status, 401, 'the key is over, and the token cannot mint another');
  });

  await t.test('a deleted rule takes its keys along', async () => {
    const { username, password } = (await exchange(await issuer.token())).body;
    const scope = ['repository:acme/team/app:pull'];
    const held = await tokenFor(url, basic(username, password), scope);
    assert.equal(held.status, 200);
    assert.equal((await owner.delete(`${rules}/${rule.body.id}`)).status, 204);
    assert.equal((await tokenFor(url, basic(username, password), scope)).status, 401);
    const late = await fetch(`${url}/v2/acme/team/app/tags/list`, { headers: { authorization: `Bearer ${held.body.token}` } });
    assert.equal(late.status, 401, 'also for a bearer token in flight');
    assert.equal((await exchange(await issuer.token())).status, 401);
    assert.equal((await owner.delete(`${rules}/${rule.body.id}`)).status, 404);
  });
});
