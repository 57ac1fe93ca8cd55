import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { givePassword, goodPassword, signedInByPassword } from './passwords.ts';

test('a page is told until when its session is fresh, and goes on once the person has proven it again', async (t) => {
  const qd = await quarterdeck(t);
  const other = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  await givePassword(qd, qd.owner);
  const browser = await signedInByPassword(qd, qd.owner.email);
  const elsewhere = (path: string, init: RequestInit = {}) =>
    fetch(`${other.url}/api/v1${path}`, {
      ...init,
      headers: { cookie: browser.cookie(), 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
    });
  const isFresh = async () =>
    (await elsewhere('/tokens/tok_unknown', { method: 'PATCH', body: '{}' })).headers.get('x-error-code') !== 'reauthenticate';

  const { session } = (await browser.api('GET', '/me')).body;
  assert.deepEqual(session.methods, ['password']);
  assert.equal((await qd.owner.get('/me')).body.session, undefined, 'a token has none');
  assert.equal(await isFresh(), true);

  await qd.clock.advance('14m');
  assert.deepEqual((await browser.api('GET', '/me')).body.session, session, 'asking moves nothing');
  await qd.clock.advance('61s');
  assert.equal(await isFresh(), false, 'in no process');

  // As the console does it: the form in a tab of its own, which leads to a screen of the console.
  const form = await browser.get('/sign-in/again?next=%2Fo%2Fdefault%2Fconfirmed');
  assert.equal(form.path, '/sign-in/again?next=%2Fo%2Fdefault%2Fconfirmed');
  assert.ok(form.text.includes('value="/o/default/confirmed"'));
  const proven = await browser.post('/sign-in/again', { password: goodPassword, next: '/o/default/confirmed' });
  assert.equal(proven.path, '/o/default/confirmed');
  assert.equal(await isFresh(), true, 'in every process');
  const { session: renewed } = (await browser.api('GET', '/me')).body;
  assert.equal(renewed.id, session.id, 'the session is the same, and so is its cookie');
  assert.ok(Date.parse(renewed.freshUntil) - Date.parse(session.freshUntil) >= 15 * 60_000, renewed.freshUntil);
});
