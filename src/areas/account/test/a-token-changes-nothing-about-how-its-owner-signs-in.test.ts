import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { personOfSession } from '../../../identity/store/sessions.ts';
import { hashKey } from '../../../identity/token-format.ts';
import { changePassword } from '../engine/passwords.ts';
import { beginApp, removeApp, renewRecoveryCodes } from '../engine/second-factor.ts';
import { endOwnSession } from '../engine/sessions.ts';
import { hasPassword } from '../store/passwords.ts';
import { givePassword, setUpApp } from './passwords.ts';

const forms: [string, Record<string, string>][] = [
  ['/account/password', { password: 'a rather different set of words', repeated: 'a rather different set of words' }],
  ['/account/second-factor/begin', {}],
  ['/account/second-factor/confirm', { code: '000000' }],
  ['/account/second-factor/codes', {}],
  ['/account/second-factor/remove', {}],
  ['/sign-in/again', { password: 'a rather different set of words' }],
];

test('a token changes nothing about how its owner signs in', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const token = { authorization: `Bearer ${owner.key}` };

  for (const [path, fields] of forms) {
    const shown = await browserLike(qd.url).post(path, fields, token);
    assert.ok(shown.path.startsWith('/sign-in?next='), `${path} leads to ${shown.path}`);
  }
  for (const path of ['/account/password', '/account/second-factor', '/account/second-factor/app', '/sign-in/again'])
    assert.ok((await browserLike(qd.url).get(path, token)).path.startsWith('/sign-in?next='), path);
  assert.equal(await qd.app.db.read((tx) => hasPassword(tx, owner.userId)), false);

  await t.test('nor does a session that did not prove itself for a quarter of an hour', async () => {
    await givePassword(qd, owner);
    const browser = await signedIn(qd, owner.userId);
    const { app } = await setUpApp(qd, browser);
    await qd.clock.advance('16m');
    for (const [path, fields] of forms.slice(0, -1)) {
      const shown = await browser.post(path, fields);
      assert.ok(shown.path.startsWith('/sign-in/again?next='), `${path} leads to ${shown.path}`);
    }
    assert.equal(
      (await browser.post('/sign-in/again', { password: 'a rather different set of words', code: await app.next() })).status,
      401,
    );
    assert.ok((await browser.get('/account/second-factor')).path.startsWith('/sign-in/again?'));
  });

  await t.test('nor does a session that ended while its form was on its way', async () => {
    const browser = await signedIn(qd, owner.userId);
    const key = hashKey(browser.cookies.get('qd')!);
    const person = (await qd.app.db.read((tx) => personOfSession(tx, key)))!;
    await browser.post('/sign-out');
    const visitor = { address: '', agent: '', requestId: '' };
    const wanted = { password: 'a rather different set of words', repeated: 'a rather different set of words', revokesTokens: false };
    const signedOut = { status: 401, message: 'you are signed out; sign in again' };
    await assert.rejects(changePassword(qd.app, person, wanted, visitor), signedOut);
    await assert.rejects(removeApp(qd.app, person, false, visitor), signedOut);
    await assert.rejects(renewRecoveryCodes(qd.app, person, visitor), signedOut);
    await assert.rejects(beginApp(qd.app, person), signedOut);
    const other = await signedIn(qd, owner.userId);
    const { sessions } = (await other.api('GET', '/me/sessions')).body as { sessions: { id: string; isCurrent: boolean }[] };
    const { id } = sessions.find(({ isCurrent }) => isCurrent)!;
    await assert.rejects(endOwnSession(qd.app, person, id, visitor), signedOut);
    assert.equal((await other.api('GET', '/me')).status, 200, 'a thief who was signed out signs the owner out no more');
  });

  await t.test('nor does a page of another site', async () => {
    const browser = await signedIn(qd, owner.userId);
    for (const [path, fields] of [...forms, ['/sign-in', {}], ['/sign-in/second', {}]] as typeof forms)
      for (const site of ['cross-site', 'same-site', 'none'])
        assert.equal((await browser.post(path, fields, { 'sec-fetch-site': site })).status, 403, `${path} ${site}`);
  });

  await t.test('and a weak password is refused above its form', async () => {
    const browser = await signedIn(qd, owner.userId);
    const weak = await browser.post('/account/password', { password: 'default default!', repeated: 'default default!' });
    assert.equal(weak.status, 400);
    assert.match(weak.text, /role="alert">The password is little more than your name/);
    const differing = await browser.post('/account/password', { password: 'one set of four words', repeated: 'another set of words' });
    assert.match(differing.text, /The two passwords differ/);
  });
});
