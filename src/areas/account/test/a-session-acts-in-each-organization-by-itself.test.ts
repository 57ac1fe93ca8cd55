import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { type BrowserLike, browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { run } from '../../../kernel/db/index.ts';

test('a session acts in the organization that each request names, and nothing of one reaches another', async (t) => {
  const qd = await quarterdeck(t);
  const acme = await qd.organization('acme');
  const umbrella = await qd.organization('umbrella');
  await qd.app.db.write(
    (tx) =>
      run(
        tx,
      )`insert into identity.member (org_id, user_id, role, joined_at) values (${umbrella.orgId}, ${acme.userId}, 'admin', kernel.now())`,
  );
  const browser = await signedIn(qd, acme.userId);
  const at = (slug: string, more = {}) => ({ 'x-organization': slug, ...more });

  const unnamed = await browser.api('GET', '/organization');
  assert.deepEqual([unnamed.status, unnamed.code], [400, 'invalid'], 'of several organizations, one must be named');
  const foreign = await browser.api('GET', '/organization', undefined, at('default'));
  assert.deepEqual([foreign.status, foreign.code], [403, 'organization_mismatch']);

  // Lists of tokens are remembered by caller and URL.
  await acme.post('/tokens', { name: 'of acme' });
  for (const _ of [1, 2]) {
    const names = async (slug: string) =>
      (await browser.api('GET', '/tokens', undefined, at(slug))).body.tokens.map(({ name }: { name: string }) => name);
    assert.ok((await names('acme')).includes('of acme'));
    assert.ok(!(await names('umbrella')).includes('of acme'));
  }

  // The same key and body in two organizations are two requests.
  const once = { 'idempotency-key': 'the-same' };
  const inAcme = await browser.api('POST', '/oncall/services', { name: 'web' }, at('acme', once));
  const inUmbrella = await browser.api('POST', '/oncall/services', { name: 'web' }, at('umbrella', once));
  const again = await browser.api('POST', '/oncall/services', { name: 'web' }, at('acme', once));
  assert.deepEqual([inAcme.status, inUmbrella.status, again.status], [201, 201, 201]);
  assert.notEqual(inAcme.body.id, inUmbrella.body.id);
  assert.equal(again.body.id, inAcme.body.id);

  // Leaving one organization ends nothing in another, and is effective in every process at once.
  const second = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const elsewhere = browserLike(second.url);
  elsewhere.cookies.set('qd', browser.cookies.get('qd')!);
  assert.equal((await elsewhere.api('GET', '/organization', undefined, at('umbrella'))).status, 200);
  assert.equal((await umbrella.delete(`/organization/members/${acme.userId}`)).status, 204);
  await eventually(async () => (await elsewhere.api('GET', '/organization', undefined, at('umbrella'))).status === 403);
  assert.equal((await elsewhere.api('GET', '/organization', undefined, at('acme'))).status, 200);
  assert.equal((await elsewhere.api('GET', '/organization')).status, 200, 'one organization is left, and need not be named');

  // Signing out in one process ends it in the other.
  assert.equal((await browser.post('/sign-out')).status, 200);
  await eventually(async () => (await elsewhere.api('GET', '/organization')).status === 401);
});

test('who looks at the pages of the account uses the session', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_SESSION_IDLE_SECONDS: '300' } });
  const [looks, leaves] = [await signedIn(qd, qd.owner.userId), await signedIn(qd, qd.owner.userId)];
  for (let n = 0; n < 3; n++) {
    await qd.clock.advance('200s');
    assert.equal((await looks.get('/account')).path, '/account');
  }
  assert.match((await leaves.get('/account')).path, /^\/sign-in/, 'a session that is left ends');
});

test('what a page asks by itself keeps a session alive no longer', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_SESSION_IDLE_SECONDS: '300' } });
  const second = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const [asked, used] = [await signedIn(qd, qd.owner.userId), await signedIn(qd, qd.owner.userId)];
  const get = (browser: BrowserLike, url: string, headers = {}) =>
    fetch(`${url}/api/v1/me`, { headers: { cookie: browser.cookie(), 'sec-fetch-site': 'same-origin', ...headers } });
  await qd.clock.advance('200s');
  assert.equal((await get(asked, second.url, { 'x-background': '1' })).status, 200);
  assert.equal((await get(used, second.url)).status, 200);
  await second.stop(); // writes down who was seen
  await qd.clock.advance('150s');
  assert.equal((await get(asked, qd.url)).status, 401);
  assert.equal((await get(used, qd.url)).status, 200);
});
