import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { passkeysOf } from '../store/passkeys.ts';
import { passkeyTools } from './passkeys.ts';

test('a challenge is used once, in its own browser and session, within five minutes, and by one of two processes', async (t) => {
  const qd = await quarterdeck(t);
  const second = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const tools = passkeyTools(qd);
  const browser = await tools.signedIn(qd, qd.owner.userId);
  assert.equal((await tools.add(browser)).status, 200);

  const visitor = tools.visitor();
  const optionsFor = async (fields = {}, who = visitor) => (await tools.ask(who, '/sign-in/passkey/options', fields)).body.publicKey;
  const credential = tools.use(await optionsFor());
  const cookie = visitor.cookie();
  const send = (url: string, path = '/sign-in/passkey', given = credential, cookies = cookie) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin', cookie: cookies },
      body: new URLSearchParams({ credential: given }),
    });
  const port = (url: string) => url.replace('127.0.0.1', 'localhost');
  // Both processes have one public address; here each has a port of its own, so the answer names the origin of each.
  const both = [qd.url, second.url].map((url) => ({
    url: port(url),
    credential: tools.use({ challenge: challengeIn(credential) }, { origin: port(url) }),
  }));
  const answers = await Promise.all(both.map(({ url, credential: given }) => send(url, '/sign-in/passkey', given)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409], 'of two uses at once, one');
  assert.equal((await send(port(qd.url))).status, 409, 'a replay');

  const late = tools.use(await optionsFor());
  await qd.clock.advance('6m');
  assert.equal((await tools.ask(visitor, '/sign-in/passkey', { credential: late })).body.code, 'challenge_over');

  // A challenge for one purpose, or of another session, is none for this one.
  const forSignIn = tools.use(await optionsFor({}, browser));
  assert.equal((await tools.ask(browser, '/sign-in/again/passkey', { credential: forSignIn })).status, 409);
  const forAgain = tools.use(await optionsFor({ again: '1' }, browser));
  assert.equal((await tools.ask(browser, '/sign-in/passkey', { credential: forAgain })).status, 409);
  const stolen = await tools.signedIn(qd, qd.owner.userId);
  stolen.cookies.set('qd-challenge', browser.cookies.get('qd-challenge')!);
  assert.equal((await tools.ask(stolen, '/sign-in/again/passkey', { credential: forAgain })).status, 409);

  // Somebody else's passkey proves nothing.
  const colleague = await qd.member(qd.owner, 'member');
  const theirs = await tools.signedIn(qd, colleague.userId);
  assert.match((await tools.ask(theirs, '/sign-in/passkey/options', { again: '1' })).body.reason, /You have no passkey on localhost/);
  assert.equal((await tools.add(theirs)).status, 200);
  const mine = await optionsFor({ again: '1' }, browser);
  assert.equal((await tools.ask(browser, '/sign-in/again/passkey', { credential: tools.use(mine) })).status, 401);
  const [own] = await qd.app.db.read((tx) => passkeysOf(tx, qd.owner.userId));
  for (const act of ['remove', 'name']) assert.equal((await theirs.post(`/account/passkeys/${own!.id}/${act}`, { name: 'x' })).status, 404);

  // A passkey that was removed here is still on its device.
  assert.equal((await tools.add(theirs, 'another')).status, 200);
  const [, newest] = await qd.app.db.read((tx) => passkeysOf(tx, colleague.userId));
  assert.equal((await theirs.post(`/account/passkeys/${newest!.id}/remove`)).path, '/account/passkeys');
  const { status, body } = await tools.signIn(tools.visitor());
  assert.deepEqual([status, body.code], [401, 'passkey_unknown']);

  await qd.perform({ name: 'account.forget' });
});

const challengeIn = (credential: string): string =>
  JSON.parse(Buffer.from(JSON.parse(credential).response.clientDataJSON, 'base64url').toString()).challenge;
