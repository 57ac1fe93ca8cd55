import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { browserLike } from '../../../../test/harness/visitor.ts';
import { makeClaimLink, makeLink } from '../index.ts';

const own = { 'sec-fetch-site': 'same-origin' };

test('a link signs a person in once, and the session acts as that person until it ends', async (t) => {
  const qd = await quarterdeck(t);
  const { id: userId, email } = (await qd.owner.get('/me')).body;
  const { secret } = await qd.app.db.write((tx) => makeLink(tx, userId, 'operator'));
  const link = `${qd.url}/sign-in/link/${secret}`;
  const use = (headers: Record<string, string>) => fetch(link, { method: 'POST', headers, redirect: 'manual' });

  const shown = await fetch(link);
  assert.equal(shown.status, 200);
  assert.ok((await shown.text()).includes(email), 'it says whom it signs in');
  const foreign: Record<string, string>[] = [{}, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }];
  for (const headers of [...foreign, { origin: 'http://elsewhere.example' }])
    assert.equal((await use(headers)).status, 403, JSON.stringify(headers));

  const both = await Promise.all([use(own), use(own)]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [303, 404], 'of two uses at once, one');
  const [cookie = ''] = both.find(({ status }) => status === 303)!.headers.getSetCookie();
  assert.match(cookie, /^qd=qd_sess_[0-9A-Za-z]{38}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000$/);
  const [pair = ''] = cookie.split(';');

  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${qd.url}/api/v1${path}`, { method, headers: { cookie: pair, ...headers } });
  const me = await ask('/me', own);
  assert.equal(me.status, 200);
  assert.equal(((await me.json()) as { id: string }).id, userId);
  for (const headers of foreign)
    assert.equal((await ask('/me', headers)).status, 401, `a session counts for own pages only: ${JSON.stringify(headers)}`);
  assert.equal((await fetch(`${qd.url}/api/v1/me`, { headers: { authorization: `Bearer ${pair.slice(3)}` } })).status, 401, 'no bearer');
  assert.equal((await ask('/me', { ...own, 'x-organization': 'elsewhere' })).status, 403);

  const { sessions } = (await (await ask('/me/sessions', own)).json()) as {
    sessions: { id: string; isCurrent: boolean; methods: string[] }[];
  };
  assert.deepEqual(
    sessions.map(({ isCurrent, methods }) => [isCurrent, methods]),
    [[true, ['link']]],
  );
  assert.equal((await qd.owner.delete(`/me/sessions/${sessions[0]!.id}`)).status, 403, 'a token ends no session');
  assert.equal((await fetch(`${qd.url}/account`, { headers: { cookie: pair } })).status, 200);

  const signOut = await fetch(`${qd.url}/sign-out`, { method: 'POST', headers: { cookie: pair, ...own } });
  assert.equal(signOut.status, 200);
  assert.match(signOut.headers.getSetCookie()[0]!, /^qd=; .*Max-Age=0/);
  assert.equal((await ask('/me', own)).status, 401);
});

test('a session ends when it is not used, and at the latest after 30 days', async (t) => {
  const qd = await quarterdeck(t);
  const { id: userId } = (await qd.owner.get('/me')).body;
  const signIn = async () => {
    const { secret } = await qd.app.db.write((tx) => makeLink(tx, userId, 'operator'));
    const answer = await fetch(`${qd.url}/sign-in/link/${secret}`, { method: 'POST', headers: own, redirect: 'manual' });
    return answer.headers.getSetCookie()[0]!.split(';')[0]!;
  };
  const status = async (cookie: string) => (await fetch(`${qd.url}/api/v1/me`, { headers: { cookie, ...own } })).status;
  const idle = await signIn();
  assert.equal(await status(idle), 200);
  await qd.clock.advance('8d');
  assert.equal(await status(idle), 401);

  // One that is used every few days ends all the same.
  const used = await signIn();
  for (let days = 6; days < 30; days += 6) {
    await qd.clock.advance('6d');
    assert.equal((await fetch(`${qd.url}/account`, { headers: { cookie: used }, redirect: 'manual' })).status, 200, `after ${days} days`);
  }
  assert.equal(await status(used), 200);
  await qd.clock.advance('6d');
  assert.equal(await status(used), 401, 'after 30 days');
  assert.match((await fetch(`${qd.url}/account`, { headers: { cookie: used } })).url, /\/sign-in\?next=/);
});

test('a claim link ends when its owner comes in by another way, and a change of the password ends no way back', async (t) => {
  const qd = await quarterdeck(t);
  const { userId } = qd.owner;
  const make = (purpose: 'operator' | 'reset') => qd.app.db.write((tx) => makeLink(tx, userId, purpose));
  const status = async (path: string) => (await browserLike(qd.url).get(path)).status;
  const claim = `/sign-in/link/${(await qd.app.db.write(makeClaimLink))!.secret}`;
  assert.equal(await status(claim), 200);

  const browser = browserLike(qd.url);
  assert.equal((await browser.post(`/sign-in/link/${(await make('operator')).secret}`)).path, '/account');
  assert.equal(await status(claim), 404, 'the terminal of the first start still shows it');
  assert.equal((await browserLike(qd.url).post(claim)).status, 404);

  const links = [`/sign-in/link/${(await make('operator')).secret}`, `/sign-in/reset/${(await make('reset')).secret}`];
  const password = 'correct horse battery staple';
  assert.match((await browser.post('/account/password', { password, repeated: password })).text, /password is saved/);
  for (const link of links) assert.equal(await status(link), 200, 'a thief who is signed in cannot end it either');
});
