import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { browserLike } from '../../../../test/harness/visitor.ts';
import { matchStep } from '../rules/totp.ts';
import { givePassword, goodPassword, setUpApp, signedInByPassword, signIn } from './passwords.ts';

test('codes are those of RFC 6238, of three half minutes, each once', () => {
  const secret = Buffer.from('12345678901234567890');
  // The vectors of appendix B, their last six digits.
  for (const [at, code] of [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [20_000_000_000, '353130'],
  ] as const) {
    const step = Math.floor(at / 30);
    for (const apart of [-30, 0, 30]) assert.equal(matchStep(secret, code, at + apart, 0), step, `${at} ${apart}`);
    for (const apart of [-60, 60]) assert.equal(matchStep(secret, code, at + apart, 0), undefined, `${at} ${apart}`);
    assert.equal(matchStep(secret, code, at, step), undefined, 'a step that was used');
  }
  for (const wrong of ['', '28708', '2870822', ' 287082', 'abcdef', '２８７０８２'])
    assert.equal(matchStep(secret, wrong, 59, 0), undefined, wrong);
});

test('a person signs in by password and code', async (t) => {
  const qd = await quarterdeck(t);
  const other = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const { owner } = qd;
  const browser = browserLike(qd.url);
  await givePassword(qd, owner);
  const elsewhere = await signedInByPassword(qd, owner.email);
  await signIn(browser, owner.email);
  const { app, codes } = await setUpApp(qd, browser);
  const begun = async (server = qd) => {
    const fresh = browserLike(server.url);
    assert.equal((await signIn(fresh, owner.email)).path, '/sign-in/second?next=%2Faccount');
    assert.equal((await fresh.get('/account')).path.startsWith('/sign-in?'), true, 'the password alone signs nobody in');
    return fresh;
  };
  const sessions = async () => (await browser.api('GET', '/me/sessions')).body.sessions as { methods: string[]; isCurrent: boolean }[];

  await t.test('an app is on after one right code, and its session has two factors', async () => {
    assert.equal(codes.length, 10);
    assert.equal(new Set(codes).size, 10);
    assert.deepEqual((await sessions()).find((s) => s.isCurrent)!.methods, ['password', 'totp']);
    const page = await browser.get('/account/second-factor');
    assert.match(page.text, /10 recovery codes left/);
    assert.equal(
      codes.some((code) => page.text.includes(code)),
      false,
      'codes are shown once',
    );
    assert.equal((await browser.get('/account/second-factor/app')).path, '/account/second-factor', 'and so is the secret');
    assert.match((await browser.post('/account/second-factor/begin')).text, /set up already; remove it first/);
    assert.equal((await elsewhere.get('/account')).status, 200);
  });

  await t.test('a code signs in once, also when it is sent twice at once', async () => {
    const [first, second] = [await begun(), await begun(other)];
    const code = await app.next();
    const both = await Promise.all([first.post('/sign-in/second', { code }), second.post('/sign-in/second', { code })]);
    assert.deepEqual(both.map(({ path }) => path).sort(), ['/account', '/sign-in/second']);
    assert.match(both.find(({ path }) => path !== '/account')!.text, /role="alert">The code is wrong, or it was used already/);
    assert.equal((await (await begun()).post('/sign-in/second', { code })).status, 401, 'a replay');
    await qd.clock.advance('1h'); // wrong codes are counted by the hour
  });

  await t.test('a sign-in takes five wrong codes, and then begins again with the password', async () => {
    const guessing = await begun();
    const key = guessing.cookies.get('qd_pending')!;
    for (let i = 0; i < 4; i++) assert.match((await guessing.post('/sign-in/second', { code: '000000' })).text, /The code is wrong/);
    assert.match((await guessing.post('/sign-in/second', { code: 'AAAA-AAAA-AAAA-AAAA' })).text, /begin again with your password/);
    assert.equal(guessing.cookies.has('qd_pending'), false);
    guessing.cookies.set('qd_pending', key);
    assert.match((await guessing.post('/sign-in/second', { code: await app.next() })).text, /begin again/, 'the right one comes too late');
    await qd.clock.advance('1h');
  });

  await t.test('a recovery code stands in for the app once, also on two servers at once', async () => {
    const [first, second] = [await begun(), await begun(other)];
    const [code = ''] = codes;
    const typed = code.toLowerCase().replaceAll('-', ' ');
    const both = await Promise.all([first.post('/sign-in/second', { code }), second.post('/sign-in/second', { code: typed })]);
    assert.deepEqual(both.map(({ path }) => path).sort(), ['/account', '/sign-in/second']);
    assert.equal((await sessions()).filter(({ methods }) => methods.includes('recovery')).length, 1);
    assert.match((await browser.get('/account/second-factor')).text, /Is it you|9 recovery codes left/);
    await qd.clock.advance('1h');
  });

  await t.test('a sign-in that is left alone, as after a crash, signs nobody in and locks nobody out', async () => {
    const before = (await sessions()).length;
    const abandoned = await begun();
    await qd.clock.advance('11m');
    assert.match((await abandoned.post('/sign-in/second', { code: await app.next() })).text, /begin again with your password/);
    assert.equal((await sessions()).length, before);
    const fresh = await begun();
    assert.equal((await fresh.post('/sign-in/second', { code: await app.next() })).path, '/account');
  });

  await t.test('a dangerous page asks for password and code again', async () => {
    assert.equal((await browser.get('/account/password')).path, '/sign-in/again?next=%2Faccount%2Fpassword');
    const wrong = await browser.post('/sign-in/again', { password: goodPassword, code: app.last() });
    assert.match(wrong.text, /The password or the code is wrong, or the code was used already/);
    assert.equal((await browser.post('/sign-in/again', { password: 'wrong', code: await app.next() })).status, 401);
    const right = await browser.post('/sign-in/again', { password: goodPassword, code: await app.next(), next: '/account/password' });
    assert.equal(right.path, '/account/password');
    assert.equal(right.status, 200);

    await qd.clock.advance('61m');
    const recorded = async () =>
      JSON.stringify((await owner.get('/organization/audit?limit=100')).body).match(/account\.guesses\.refuse/g)?.length ?? 0;
    const before = await recorded();
    const statuses: number[] = [];
    for (let n = 0; n < 11; n++) statuses.push((await browser.post('/sign-in/again', { password: goodPassword, code: '000000' })).status);
    assert.deepEqual(statuses, [...Array(10).fill(401), 429], 'a stolen cookie has ten guesses an hour, of codes too');
    assert.equal((await recorded()) - before, 1, 'and they are on record');
    await qd.clock.advance('61m');
    assert.equal((await browser.post('/sign-in/again', { password: goodPassword, code: await app.next() })).path, '/account');
  });

  await t.test('another password ends the other sessions and what waits for a code; the app stays', async () => {
    const waiting = await begun();
    const password = 'a rather different set of words';
    const changed = await browser.post('/account/password', { password, repeated: password });
    assert.match(changed.text, /password is saved/);
    assert.match((await waiting.post('/sign-in/second', { code: await app.next() })).text, /begin again/);
    assert.equal((await elsewhere.get('/account')).path.startsWith('/sign-in?'), true);
    assert.deepEqual(
      (await sessions()).map(({ isCurrent }) => isCurrent),
      [true],
    );
    const fresh = browserLike(qd.url);
    assert.equal((await signIn(fresh, owner.email)).status, 401, 'the password from before');
    assert.equal((await signIn(fresh, owner.email, password)).path, '/sign-in/second?next=%2Faccount', 'a code is still asked for');
    assert.equal((await fresh.post('/sign-in/second', { code: await app.next() })).path, '/account');

    assert.equal((await owner.get('/me')).status, 200);
    assert.equal((await browser.post('/account/second-factor/remove', { 'revoke-tokens': 'yes' })).status, 200);
    assert.equal((await owner.get('/me')).status, 401, 'tokens are revoked where the person asks for it');
    assert.equal((await fresh.get('/account')).path.startsWith('/sign-in?'), true, 'a factor that goes ends the other sessions');
    assert.equal((await signIn(browserLike(qd.url), owner.email, password)).path, '/account');
  });
});
