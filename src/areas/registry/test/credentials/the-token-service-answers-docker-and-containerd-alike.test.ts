import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { basic, claimsOf, tokenByForm, tokenFor } from '../credentials.ts';

test('the token service answers docker and containerd alike', async (t) => {
  const { owner, url } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const { keyId, secret } = (await owner.post('/registry/registries/acme/keys', { name: 'ci', mode: 'readwrite' })).body;

  await t.test('docker: 401 with a challenge, a token by Basic, and in', async () => {
    const closed = await fetch(`${url}/v2/`);
    assert.equal(closed.status, 401);
    assert.equal(closed.headers.get('docker-distribution-api-version'), 'registry/2.0');
    const [, realm, service] = /^Bearer realm="([^"]+)",service="([^"]+)"$/.exec(closed.headers.get('www-authenticate') ?? '') ?? [];
    assert.deepEqual([realm, service], [`${url}/token`, new URL(url).host]);

    const login = await tokenFor(url, basic(keyId, secret), [], { account: keyId, client_id: 'docker', offline_token: 'true' });
    assert.equal(login.status, 200);
    assert.equal(login.body.token, login.body.access_token);
    assert.ok(Date.parse(login.body.issued_at) > 0);
    assert.equal(login.body.refresh_token, secret, 'asked for, and no stronger than the key itself');
    assert.equal((await fetch(`${url}/v2/`, { headers: { authorization: `Bearer ${login.body.token}` } })).status, 200);
    assert.equal((await fetch(`${url}/v2/`, { headers: { authorization: basic(keyId, secret) } })).status, 200, 'Basic does too');
    assert.equal(login.headers.get('cache-control'), 'no-store');
  });

  await t.test('a token carries what was asked for and may be had, and opens nothing else', async () => {
    const asked = [
      'repository:acme/a:pull',
      'repository:acme/a:push repository:acme/b:pull',
      'repository(plugin):acme/c:*',
      'repository:stranger/a:pull',
      'nonsense',
      'registry:catalog:*',
    ];
    const { body } = await tokenFor(url, basic(keyId, secret), asked);
    assert.equal(body.refresh_token, undefined, 'not asked for');
    assert.equal(body.scope, 'repository:acme/a:pull,push repository:acme/b:pull repository:acme/c:pull,push,delete registry:catalog:*');
    const authorization = `Bearer ${body.token}`;
    assert.equal(
      (await fetch(`${url}/v2/acme/b/blobs/uploads/`, { method: 'POST', headers: { authorization } })).status,
      401,
      'pull is not push',
    );
    assert.equal((await fetch(`${url}/v2/acme/a/blobs/uploads/`, { method: 'POST', headers: { authorization } })).status, 202);
    assert.equal((await fetch(`${url}/v2/_catalog`, { headers: { authorization } })).status, 200);
  });

  await t.test('containerd: a form', async () => {
    const form = { grant_type: 'password', username: keyId, password: secret, scope: 'repository:acme/a:pull' };
    const given = await tokenByForm(url, form);
    assert.equal(given.status, 200);
    assert.deepEqual(
      [given.body.scope, given.body.expires_in >= 60, given.body.refresh_token],
      ['repository:acme/a:pull', true, undefined],
    );
    const offline = await tokenByForm(url, { ...form, access_type: 'offline' });
    const again = await tokenByForm(url, {
      grant_type: 'refresh_token',
      refresh_token: offline.body.refresh_token,
      scope: 'repository:acme/a:push',
    });
    assert.deepEqual(claimsOf(again.body.access_token).access, [{ type: 'repository', name: 'acme/a', actions: ['push'] }]);
    assert.equal((await tokenByForm(url, { ...form, password: `${secret}x` })).status, 401);
    assert.equal((await tokenByForm(url, { grant_type: 'magic' })).status, 400);
  });

  await t.test('an invalid login gets no token', async () => {
    const anonymous = await tokenFor(url, undefined, ['repository:acme/a:pull']);
    assert.equal(anonymous.status, 401);
    assert.equal(anonymous.body.errors[0].code, 'UNAUTHORIZED');
    for (const wrong of [basic(keyId, 'wrong'), basic('rk_somebody', secret), 'Basic !!!', 'Basic bm9jb2xvbg==', basic('', '')]) {
      assert.equal((await tokenFor(url, wrong, [])).status, 401, wrong);
    }
    assert.equal((await fetch(`${url}/token`, { method: 'PUT' })).status, 405);
  });

  await t.test('a changed token is rejected', async () => {
    const { token } = (await tokenFor(url, basic(keyId, secret), ['repository:acme/a:pull'])).body as { token: string };
    const [head, body, mac] = token.split('.') as [string, string, string];
    const wider = Buffer.from(
      JSON.stringify({ ...claimsOf(token), access: [{ type: 'repository', name: 'acme/a', actions: ['pull', 'push', 'delete'] }] }),
    ).toString('base64url');
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
    for (const forged of [
      `${head}.${wider}.${mac}`,
      `${head}.${body}.`,
      `${none}.${body}.`,
      `${none}.${body}.${mac}`,
      `${head}.${body}`,
      '',
      'x',
      `${token}x`,
    ]) {
      assert.equal((await fetch(`${url}/v2/`, { headers: { authorization: `Bearer ${forged}` } })).status, 401, forged.slice(0, 20));
    }
  });
});

test('a bearer token ends after some minutes', async (t) => {
  const { owner, url, clock } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const { keyId, secret } = (await owner.post('/registry/registries/acme/keys', { name: 'ci', mode: 'pull' })).body;
  const { token } = (await tokenFor(url, basic(keyId, secret), [])).body;
  const ask = async () => (await fetch(`${url}/v2/`, { headers: { authorization: `Bearer ${token}` } })).status;
  assert.equal(await ask(), 200);
  await clock.advance('9m');
  assert.equal(await ask(), 200);
  await clock.advance('2m');
  assert.equal(await ask(), 401);
});

test('an address with many failed logins must wait', async (t) => {
  const { owner, url } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const { keyId, secret } = (await owner.post('/registry/registries/acme/keys', { name: 'ci', mode: 'pull' })).body;
  assert.equal((await tokenFor(url, basic(keyId, secret), [])).status, 200);
  const now = performance.now();
  t.mock.method(performance, 'now', () => now); // on a slow machine the bucket would fill again meanwhile
  let limited: Awaited<ReturnType<typeof tokenFor>> | undefined;
  for (let i = 0; i < 70 && !limited; i++) {
    const answer = await tokenFor(url, basic(keyId, `wrong ${i}`), []);
    if (answer.status === 429) limited = answer;
  }
  assert.ok(Number(limited?.headers.get('retry-after')) >= 1);
  assert.equal((await fetch(`${url}/v2/`, { headers: { authorization: basic(keyId, 'wrong') } })).status, 429);
  assert.equal((await tokenFor(url, basic(keyId, secret), [])).status, 200, 'a client with a valid login is not blocked');
});
