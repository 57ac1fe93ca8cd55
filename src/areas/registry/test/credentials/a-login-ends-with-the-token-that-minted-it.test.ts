import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http from 'node:http';
import { test } from 'node:test';
import { type Caller, caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import { basic, claimsOf, tokenFor } from '../credentials.ts';

type Login = { username: string; password: string; expiresAt: string };
const as = ({ username, password }: Login) => basic(username, password);

test('a login reaches what the token that minted it reaches, and ends with it', async (t) => {
  const { owner, url, clock } = await quarterdeck(t);
  for (const slug of ['acme', 'beta']) await owner.post('/registry/registries', { slug });
  const scopes = ['repository:acme/x:pull,push', 'repository:beta/x:pull,push'];
  const may = async (login: Login) => {
    const { status, body } = await tokenFor(url, as(login), scopes);
    return status === 200 ? claimsOf(body.token).access.map((a: { name: string; actions: string[] }) => `${a.name} ${a.actions}`) : status;
  };
  const mint = async (name: string, body: object = {}) => {
    const { id, key } = (await owner.post('/tokens', { name, scope: [{ role: 'registry.editor' }], ...body })).body;
    const token = caller(url, key);
    return { id, token, login: (await token.post('/registry/login-credentials')).body as Login };
  };

  const ci = await mint('ci');
  assert.deepEqual(await may(ci.login), ['acme/x pull,push', 'beta/x pull,push']);
  await owner.patch(`/tokens/${ci.id}`, { scope: [{ role: 'registry.viewer' }] });
  assert.deepEqual(await may(ci.login), ['acme/x pull', 'beta/x pull'], 'narrowed with it');
  await owner.patch(`/tokens/${ci.id}`, { scope: [{ role: 'oncall.viewer' }] });
  assert.equal(await may(ci.login), 401);
  await owner.patch(`/tokens/${ci.id}`, { scope: [{ role: 'registry.editor' }] });
  assert.deepEqual(await may(ci.login), ['acme/x pull,push', 'beta/x pull,push']);
  await owner.patch(`/tokens/${ci.id}`, { enabled: false });
  assert.equal(await may(ci.login), 401, 'switched off with it');
  await owner.patch(`/tokens/${ci.id}`, { enabled: true });
  assert.deepEqual(await may(ci.login), ['acme/x pull,push', 'beta/x pull,push']);
  await owner.delete(`/tokens/${ci.id}`);
  assert.equal(await may(ci.login), 401, 'revoked with it');

  const above = await mint('above');
  const below = caller(url, (await above.token.post('/tokens', { name: 'below' })).body.key);
  const login = (await below.post('/registry/login-credentials')).body;
  assert.deepEqual(await may(login), ['acme/x pull,push', 'beta/x pull,push']);
  await owner.delete(`/tokens/${above.id}`);
  assert.equal(await may(login), 401, 'two generations down as well');

  const brief = await mint('ten minutes', { expiresIn: 600 });
  const { tokens } = (await owner.get('/tokens')).body;
  assert.equal(brief.login.expiresAt, tokens.find((x: { id: string }) => x.id === brief.id).expiresAt);
  await clock.advance('9m');
  assert.notEqual(await may(brief.login), 401);
  await clock.advance('61s');
  assert.equal(await may(brief.login), 401);
});

test('a transfer under way ends with the token two generations above its login, in every server', async (t) => {
  const first = await quarterdeck(t);
  const second = await quarterdeck(t, { connection: first.connection, dataDir: first.dataDir });
  const { owner } = first;
  await owner.post('/registry/registries', { slug: 'acme' });
  const above = (await owner.post('/tokens', { name: 'above' })).body;
  const below = (await caller(first.url, above.key).post('/tokens', { name: 'below' })).body;
  const login = (await caller(first.url, below.key).post('/registry/login-credentials')).body as Login;

  const blob = Buffer.alloc(20 * 1024 * 1024, 'x');
  const digest = `sha256:${createHash('sha256').update(blob).digest('hex')}`;
  const headers = { authorization: as(login) };
  const pushed = await fetch(`${first.url}/v2/acme/app/blobs/uploads/?digest=${digest}`, { method: 'POST', headers, body: blob });
  assert.equal(pushed.status, 201);

  // The reader stalls until the token is gone and then reads slowly: half of the download is still on the server.
  const cut = new Promise<'cut' | 'whole'>((resolve, reject) => {
    http
      .get(`${second.url}/v2/acme/app/blobs/${digest}`, { headers }, (response) => {
        assert.equal(response.statusCode, 200);
        response.once('data', () => {
          response.on('data', () => {
            response.pause();
            setTimeout(() => response.resume(), 10);
          });
          response.pause();
          owner.delete(`/tokens/${above.id}`).then(() => response.resume(), reject);
        });
        response.on('error', () => resolve('cut'));
        response.on('close', () => resolve(response.complete ? 'whole' : 'cut'));
      })
      .on('error', reject);
  });
  assert.equal(await cut, 'cut');
  for (const { url } of [first, second]) assert.equal((await tokenFor(url, as(login), [])).status, 401);
});

test('one’s own login can always be revoked, a narrowed token’s own is what it minted', async (t) => {
  const { owner, member, narrowed, url } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const clerk = await member(owner, 'member');
  const grant = (await owner.post('/iam/grants', { subject: clerk.userId, role: 'registry.viewer' })).body;
  const login = async (who: Caller) => ((await who.post('/registry/login-credentials')).body as Login).username;
  const end = async (who: Caller, username: string) => (await who.delete(`/registry/login-credentials/${username}`)).status;

  const clerkLogin = await login(clerk);
  await owner.delete(`/iam/grants/${grant.id}`);
  assert.equal(await end(clerk, clerkLogin), 204, 'without a role by now');
  assert.equal(await end(clerk, await login(owner)), 403, 'another person’s login');
  assert.equal(await end(clerk, 'rl_unknown'), 404);

  const viewer = await narrowed(owner, [{ role: 'registry.viewer' }]);
  const child = caller(url, (await viewer.post('/tokens', { name: 'child' })).body.key);
  const minted = [await login(viewer), await login(child)];
  const [mine, childs] = minted as [string, string];
  assert.equal(await end(viewer, await login(owner)), 403, 'the person’s, but not of this token');
  assert.equal(await end(child, mine), 403, 'nor upwards');
  for (const username of [mine, childs]) assert.equal(await end(viewer, username), 204);
});

test('a login from before logins knew their token follows the person', async (t) => {
  const { owner, url, app } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const login = (await owner.post('/registry/login-credentials')).body as Login;
  await app.db.write((tx) => run(tx)`update registry.registry_key set minted_by = null where key_id = ${login.username}`);
  assert.equal((await tokenFor(url, as(login), [])).status, 200);
  assert.equal((await owner.delete(`/registry/login-credentials/${login.username}`)).status, 204);
  assert.equal((await tokenFor(url, as(login), [])).status, 401);
});
