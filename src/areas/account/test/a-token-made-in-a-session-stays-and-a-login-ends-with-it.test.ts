import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller, quarterdeck } from '../../../../test/harness/index.ts';
import { signedIn } from '../../../../test/harness/visitor.ts';
import { run } from '../../../kernel/db/index.ts';

test('a token that a session made outlives it, a registry login ends with it, and an old session makes none', async (t) => {
  const qd = await quarterdeck(t);
  await qd.owner.post('/registry/registries', { slug: 'acme' });
  const browser = await signedIn(qd, qd.owner.userId);

  const token = await browser.api('POST', '/tokens', { name: 'deploy' });
  assert.equal(token.status, 201);
  const login = await browser.api('POST', '/registry/login-credentials', { registry: 'acme' });
  assert.equal(login.status, 201);
  const { username, password } = login.body;
  const registryStatus = async () =>
    (await fetch(`${qd.url}/v2/`, { headers: { authorization: `Basic ${btoa(`${username}:${password}`)}` } })).status;
  assert.equal(await registryStatus(), 200);

  await qd.clock.advance('16m');
  const stale = await browser.api('POST', '/tokens', { name: 'later' });
  assert.deepEqual([stale.status, stale.code], [403, 'reauthenticate']);
  assert.match(stale.body.error, /prove on the page \/sign-in\/again that it is you, and try again/);
  const wider = await browser.api('PATCH', `/tokens/${token.body.id}`, { enabled: true });
  assert.equal(wider.code, 'reauthenticate', 'nor does it widen one');
  assert.equal((await browser.api('GET', '/tokens')).status, 200, 'it still reads');

  await browser.post('/sign-out');
  assert.equal(await registryStatus(), 401);
  assert.equal((await caller(qd.url, token.body.key).get('/me')).status, 200);
});

test('an organization that asks for a second factor refuses sessions without one, and no token', async (t) => {
  const qd = await quarterdeck(t);
  const member = await qd.member(qd.owner, 'member');
  const browser = await signedIn(qd, member.userId);
  const requireSecondFactor = (methods: string) =>
    qd.app.db.write(async (tx) => {
      await run(tx)`update identity.org set requires_second_factor = true where id = ${member.orgId}`;
      await run(tx)`update identity.session set methods = array[${methods}]`;
      await qd.app.caches.drop(tx, '*');
    });
  for (const [methods, status] of Object.entries({ password: 403, totp: 200, passkey: 200, recovery: 200, link: 200 })) {
    await requireSecondFactor(methods);
    const answer = await browser.api('GET', '/me');
    assert.equal(answer.status, status, methods);
    if (status === 403) assert.deepEqual([answer.code, /\/account/.test(answer.body.error)], ['second_factor_required', true]);
    assert.equal((await browser.get('/account')).status, 200, 'where one adds it');
  }
  assert.equal((await member.get('/me')).status, 200);
});
