import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { hashesMade } from '../engine/hashing.ts';
import { formatPhc, parsePhc } from '../rules/phc.ts';
import { passwordsOf, savePassword } from '../store/passwords.ts';
import { givePassword, goodPassword, listenToStatements, signIn } from './passwords.ts';

test('a person signs in by password', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  await givePassword(qd, owner);
  const without = await qd.member(owner, 'member', 'without@example.com');

  await t.test('the page asks for address and password, and says how else to get in', async () => {
    const { status, text, headers } = await browserLike(qd.url).get('/sign-in?next=/account/password');
    assert.equal(status, 200);
    for (const part of ['autocomplete="username webauthn"', 'autocomplete="current-password"', 'value="/account/password"'])
      assert.ok(text.includes(part), part);
    assert.ok(text.includes('href="/sign-in/forgot"'));
    assert.ok(text.includes('quarterdeck admin sign-in-link'));
    assert.equal(headers.get('cache-control'), 'no-store');
  });

  await t.test('the right password leads on to a path of this server', async () => {
    const browser = browserLike(qd.url);
    const shown = await signIn(browser, ` ${owner.email.toUpperCase()} `, goodPassword, { next: '/account?from=sign-in' });
    assert.equal(shown.path, '/account?from=sign-in');
    assert.equal(shown.status, 200);
    const { body } = await browser.api('GET', '/me/sessions');
    assert.deepEqual(body.sessions.find((s: { isCurrent: boolean }) => s.isCurrent).methods, ['password']);
    assert.equal((await browser.get('/sign-in?next=/account')).path, '/account', 'a person who is signed in is led on');
    for (const next of ['//elsewhere.example', '/\\elsewhere.example', 'https://elsewhere.example', '/\t/elsewhere.example'])
      assert.equal((await signIn(browserLike(qd.url), owner.email, goodPassword, { next })).path, '/account', next);
  });

  await t.test('the session that the browser had before ends, and the new one has another key', async () => {
    const browser = await signedIn(qd, without.userId);
    const former = browser.cookie();
    const key = browser.cookies.get('qd');
    assert.equal((await signIn(browser, owner.email)).path, '/account');
    assert.notEqual(browser.cookies.get('qd'), key);
    assert.equal((await browser.api('GET', '/me')).body.id, owner.userId);
    assert.equal((await fetch(`${qd.url}/api/v1/me`, { headers: { cookie: former, 'sec-fetch-site': 'same-origin' } })).status, 401);
    const planted = browserLike(qd.url);
    planted.cookies.set('qd', key!);
    await signIn(planted, owner.email);
    assert.notEqual(planted.cookies.get('qd'), key, 'a key that somebody planted is never taken up');
  });

  await t.test('a wrong password, an address without one and an unknown address look and cost the same', async () => {
    const statements = listenToStatements(qd, /account\.\w/);
    const tried = async (email: string, password: string) => {
      const [hashesBefore, statementsBefore] = [hashesMade(), statements()];
      const { status, text, path } = await signIn(browserLike(qd.url), email, password);
      const work = { hashes: hashesMade() - hashesBefore, statements: statements() - statementsBefore };
      return { status, path, ...work, text: text.replace(email, '') };
    };
    const wrong = await tried(owner.email, 'wrong horse battery staple');
    assert.equal(wrong.status, 401);
    assert.equal(wrong.hashes, 1);
    assert.ok(wrong.statements > 0);
    assert.match(wrong.text, /role="alert">The address or the password is wrong/);
    for (const email of [without.email, 'nobody@example.com', '', `${'x'.repeat(400)}@example.com`])
      assert.deepEqual({ ...(await tried(email, goodPassword)), text: '' }, { ...wrong, text: '' }, email);
    assert.equal((await tried(without.email, goodPassword)).text, wrong.text);
    assert.equal((await tried('nobody@example.com', '')).text, wrong.text);
  });

  await t.test('a password that was hashed with other parameters is hashed anew', async () => {
    const { memory, passes, parallelism, salt } = { memory: 1_024, passes: 1, parallelism: 1, salt: Buffer.alloc(16, 7) };
    const tag = argon2Sync('argon2id', { message: Buffer.from(goodPassword), nonce: salt, memory, passes, parallelism, tagLength: 32 });
    await qd.app.db.write((tx) => savePassword(tx, owner.userId, formatPhc({ memory, passes, parallelism, salt, tag })));
    assert.equal((await signIn(browserLike(qd.url), owner.email)).path, '/account');
    const [stored] = await qd.app.db.read((tx) => passwordsOf(tx, [owner.userId]));
    assert.equal(parsePhc(stored!.phc).memory, 19_456);
    assert.equal((await signIn(browserLike(qd.url), owner.email)).path, '/account');
  });

  await t.test('an address with several accounts is signed in to the one whose password it is', async () => {
    const [first, second] = [await qd.member(owner, 'member', 'twice@example.com'), await qd.member(owner, 'admin', 'Twice@example.com')];
    await givePassword(qd, first, 'the password of the first');
    await givePassword(qd, second, 'the password of the second');
    for (const [person, password] of [
      [first, 'the password of the first'],
      [second, 'the password of the second'],
    ] as const) {
      const browser = browserLike(qd.url);
      await signIn(browser, 'twice@example.com', password);
      assert.equal((await browser.api('GET', '/me')).body.id, person.userId);
    }
  });

  await t.test('signing in is on record', async () => {
    const { body } = await owner.get('/organization/audit?limit=100');
    const actions = JSON.stringify(body);
    assert.ok(actions.includes('account.session.start') && actions.includes('account.password.set'));
    assert.ok(!actions.includes(goodPassword));
  });
});
