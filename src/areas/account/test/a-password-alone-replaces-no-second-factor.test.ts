import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { browserLike, type Shown, signedIn } from '../../../../test/harness/visitor.ts';
import { mintKey } from '../../../identity/token-format.ts';
import { passkeyTools } from './passkeys.ts';
import { givePassword, goodPassword, setUpApp, signedInByPassword, signIn } from './passwords.ts';
import { approves, asks, claims } from './support.ts';

test('a thief of the password changes nothing about how a person with a passkey signs in', async (t) => {
  const qd = await quarterdeck(t);
  const ada = await qd.member(qd.owner, 'admin', 'ada@example.com');
  await givePassword(qd, ada);
  const tools = passkeyTools(qd);
  const own = await tools.signedIn(qd, ada.userId);
  assert.equal((await tools.add(own)).status, 200);
  assert.equal((await own.api('PATCH', '/organization/security', { requiresSecondFactor: true })).status, 200);
  const thief = tools.visitor();
  await signIn(thief, ada.email);
  assert.equal((await thief.api('GET', '/me')).code, 'second_factor_required');
  assert.equal((await tools.ask(thief, '/account/passkeys/options')).status, 403);
  const asksForMore = ({ path, text }: Shown, what: string) => {
    assert.match(path, /^\/sign-in\/again/, what);
    assert.match(text, /signed in with your password alone/, what);
    assert.ok(!text.includes('type="password"'), `${what}: the password alone would lead here again`);
  };
  const acts = ['begin', 'confirm', 'codes', 'remove'].map((act) => `/account/second-factor/${act}`);
  for (const path of ['/account/password', ...acts, '/account/address'])
    asksForMore(await thief.post(path, { email: 'thief@example.com' }), path);
  const asked = await asks(qd.anonymous);
  asksForMore(await thief.get('/device'), 'the page of a program’s code');
  for (const path of ['/device', '/device/approve'])
    asksForMore(await approves(thief, asked, { organization: 'default' }, path), 'nor does a program act for the thief');
  assert.equal((await claims(qd.anonymous, asked)).code, 'authorization_pending');
  assert.equal((await thief.api('GET', '/me')).code, 'second_factor_required');
  assert.equal((await own.api('GET', '/me')).status, 200);
  asksForMore(await thief.post('/sign-in/again', { password: goodPassword, next: '/account/password' }), 'the password once more');

  // Its person shows the passkey, and the session is as good as any.
  const person = tools.visitor();
  await signIn(person, ada.email);
  assert.equal((await tools.confirm(person)).status, 200);
  assert.equal((await person.api('GET', '/me')).status, 200);
  assert.equal((await person.get('/account/password')).path, '/account/password');
  assert.equal((await person.get('/sign-in/again?next=/account/tokens')).path, '/account/tokens', 'who has proven it is not asked');
});

test('a session has a factor no more once that is removed', async (t) => {
  const qd = await quarterdeck(t);
  const ada = await qd.member(qd.owner, 'member', 'ada@example.com');
  await givePassword(qd, ada);
  assert.equal((await qd.owner.patch('/organization/security', { requiresSecondFactor: true })).status, 200);
  const browser = await signedInByPassword(qd, ada.email);
  assert.equal((await browser.api('GET', '/me')).status, 403);
  await setUpApp(qd, browser);
  assert.equal((await browser.api('GET', '/me')).status, 200);
  assert.equal((await browser.post('/account/second-factor/remove')).status, 200);
  assert.equal((await browser.api('GET', '/me')).code, 'second_factor_required');
});

test('sessions that lead nowhere are counted, and hold up neither tokens nor public operations', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_RATE_LIMIT: '600' } });
  const ada = await qd.member(qd.owner, 'member', 'ada@example.com');
  const browser = await signedIn(qd, ada.userId);
  const statuses = new Set<number>();
  for (let n = 0; n < 80; n++) statuses.add((await browser.api('GET', '/me', undefined, { 'x-organization': `org-${n}` })).status);
  assert.deepEqual([...statuses], [403, 429]);
  const ended = browserLike(qd.url);
  ended.cookies.set('qd', mintKey('sess').key);
  for (let n = 0; n < 80; n++) await ended.api('GET', '/me');
  assert.equal((await (await qd.member(qd.owner, 'member', 'bob@example.com')).get('/me')).status, 200);
  assert.equal((await ended.api('POST', '/device/codes', { program: 'a program' })).status, 201);
  assert.equal((await browser.api('POST', '/device/codes', { program: 'a program' }, { 'x-organization': 'elsewhere' })).status, 201);
});
