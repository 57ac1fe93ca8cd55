import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { givePassword, goodPassword } from './passwords.ts';

const afar = { 'x-forwarded-for': '203.0.113.7' };

test('over plain HTTP from elsewhere no session counts, none begins, and the page says why', async (t) => {
  // The test stands for the operator's proxy, which says how the request reached it.
  const qd = await quarterdeck(t, {
    env: { QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1', QUARTERDECK_PUBLIC_URL: 'https://deck.example' },
  });
  await givePassword(qd, qd.owner);
  const browser = await signedIn(qd, qd.owner.userId);
  browser.cookies.set('__Host-qd', browser.cookies.get('qd')!);
  browser.cookies.delete('qd');
  const tls = { ...afar, 'x-forwarded-proto': 'https' };

  for (const [way, headers] of [
    ['a proxy that does not say', afar],
    ['plain HTTP', { ...afar, 'x-forwarded-proto': 'http' }],
    ['plain HTTP at the last hop', { ...afar, 'x-forwarded-proto': 'https, http' }],
  ] as const) {
    assert.equal((await browser.api('GET', '/me', undefined, headers)).status, 401, way);
    const stranger = browserLike(qd.url);
    for (const shown of [
      await stranger.get('/sign-in', headers),
      await stranger.post('/sign-in', { email: qd.owner.email, password: goodPassword }, headers),
      await browser.get('/account', headers),
      await browser.post('/account/name', { name: 'Read on the way' }, headers),
    ]) {
      assert.equal(shown.status, 403, way);
      assert.match(shown.text, /came over plain HTTP.*open https:\/\/deck\.example instead.*must send X-Forwarded-Proto/);
    }
    assert.equal(stranger.cookies.size, 0, `${way}: no cookie is set that would not count`);
    assert.equal((await stranger.post('/sign-in/passkey/options', {}, headers)).status, 403, way);
  }

  assert.equal((await browser.api('GET', '/me', undefined, tls)).status, 200);
  const own = browserLike(qd.url);
  const shown = await own.post('/sign-in', { email: qd.owner.email, password: goodPassword }, tls);
  assert.deepEqual([...own.cookies.keys()], ['__Host-qd', '__Host-qd_known'], shown.text);
  assert.equal((await browser.api('GET', '/me')).status, 200, 'on this machine itself nothing is in between');
});

test('a cookie that a sibling host can set counts for nothing where the public URL is https', async (t) => {
  const qd = await quarterdeck(t, {
    env: { QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1', QUARTERDECK_PUBLIC_URL: 'https://deck.example' },
  });
  const tls = { ...afar, 'x-forwarded-proto': 'https' };
  await givePassword(qd, qd.owner);
  const mallory = await qd.member(qd.owner, 'member', 'mallory@example.com');
  const planted = (await signedIn(qd, mallory.userId)).cookies.get('qd')!;
  const victim = browserLike(qd.url);
  // A sibling sets cookies for the whole domain, and none whose name begins with __Host-.
  for (const name of ['qd', '__Secure-qd', '__host-qd', 'X__Host-qd', ' __Host-qd=x; qd']) victim.cookies.set(name, planted);
  assert.equal((await victim.api('GET', '/me', undefined, tls)).status, 401);
  assert.match((await victim.get('/account', tls)).path, /^\/sign-in/);
  victim.cookies.delete(' __Host-qd=x; qd');
  await victim.post('/sign-in', { email: qd.owner.email, password: goodPassword }, tls);
  assert.equal((await victim.api('GET', '/me', undefined, tls)).body.email, qd.owner.email);
});
