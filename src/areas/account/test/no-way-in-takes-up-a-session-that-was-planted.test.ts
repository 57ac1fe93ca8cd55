import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { type BrowserLike, browserLike } from '../../../../test/harness/visitor.ts';
import { mintKey } from '../../../identity/token-format.ts';
import { makeLink } from '../index.ts';
import { passkeyTools } from './passkeys.ts';
import { givePassword, setUpApp, signIn } from './passwords.ts';

const newPassword = 'a rather different set of words';

test('every way in makes a key of its own, ends the session that was planted in the browser, and leaves others alone', async (t) => {
  const qd = await quarterdeck(t);
  const tools = passkeyTools(qd);
  const ada = await qd.member(qd.owner, 'member', 'ada@example.com');
  await givePassword(qd, ada);
  const own = await tools.signedIn(qd, ada.userId);
  assert.equal((await tools.add(own)).status, 200);
  const bob = await qd.member(qd.owner, 'member', 'bob@example.com');
  await givePassword(qd, bob);
  const { app } = await setUpApp(qd, await tools.signedIn(qd, bob.userId));
  const link = async (userId: string, purpose: 'operator' | 'reset') =>
    (await qd.app.db.write((tx) => makeLink(tx, userId, purpose))).secret;

  const ways: [string, typeof ada, (browser: BrowserLike) => Promise<unknown>][] = [
    ['a password', ada, (browser) => signIn(browser, ada.email)],
    ['a passkey', ada, (browser) => tools.signIn(browser)],
    ['a link', ada, async (browser) => browser.post(`/sign-in/link/${await link(ada.userId, 'operator')}`)],
    [
      'a password and a code',
      bob,
      async (browser) => {
        await signIn(browser, bob.email);
        assert.equal((await browser.api('GET', '/me')).body.email, 'mallory@example.com', 'a password alone changes nothing yet');
        await browser.post('/sign-in/second', { code: await app.next() });
      },
    ],
    ['a reset', ada, async (browser) => browser.post(`/sign-in/reset/${await link(ada.userId, 'reset')}`, { password: newPassword })],
  ];
  const mallory = await qd.member(qd.owner, 'member', 'mallory@example.com');
  for (const [way, person, act] of ways) {
    const planted = await tools.signedIn(qd, mallory.userId);
    const elsewhere = await tools.signedIn(qd, mallory.userId);
    const victim = browserLike(tools.url);
    for (const [name, value] of planted.cookies) victim.cookies.set(name, value);
    await act(victim);
    assert.equal((await victim.api('GET', '/me')).body.email, person.email, way);
    assert.notEqual(victim.cookies.get('qd'), planted.cookies.get('qd'), way);
    assert.equal((await planted.api('GET', '/me')).status, 401, `${way}: the planted session is over`);
    assert.equal((await elsewhere.api('GET', '/me')).status, 200, `${way}: other sessions of its person go on`);
  }

  // A key that was made up, with a right checksum, is not taken up either.
  const victim = browserLike(tools.url);
  const madeUp = mintKey('sess').key;
  victim.cookies.set('qd', madeUp);
  await signIn(victim, ada.email, newPassword);
  assert.equal((await victim.api('GET', '/me')).body.email, ada.email);
  assert.notEqual(victim.cookies.get('qd'), madeUp);
});
