import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lies } from '../../../../test/fakes/authenticator.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { passkeysOf } from '../store/passkeys.ts';
import { passkeyTools } from './passkeys.ts';

const certificate = {
  format: 'packed',
  statement: new Map<string, unknown>([
    ['alg', -7],
    ['sig', Buffer.alloc(64)],
    ['x5c', Buffer.alloc(8)],
  ]),
};

test('a passkey that lies about place, person, challenge or signature neither signs in nor is added', async (t) => {
  const qd = await quarterdeck(t);
  const tools = passkeyTools(qd);
  const browser = await tools.signedIn(qd, qd.owner.userId);

  const wrong: [string, Lies, RegExp][] = [
    ['another host', { rpId: 'elsewhere.example' }, /^passkey_wrong$/],
    ['another origin', { origin: 'https://elsewhere.example' }, /^passkey_wrong$/],
    ['a sibling port', { origin: 'http://localhost:1' }, /^passkey_wrong$/],
    ['without a finger or a PIN', { isUserVerified: false }, /^passkey_unverified$/],
    ['another challenge', { challenge: Buffer.alloc(32).toString('base64url') }, /^passkey_wrong$/],
    ['in a frame', { clientData: { crossOrigin: true } }, /^passkey_wrong$/],
    ['in a frame of a named site', { clientData: { topOrigin: 'https://elsewhere.example' } }, /^passkey_wrong$/],
    ['an answer of another kind', { clientData: { type: 'payment.get' } }, /^passkey_wrong$/],
  ];
  for (const [what, lies, code] of wrong) {
    const { status, body } = await tools.add(browser, what, lies);
    assert.equal(status, 401, what);
    assert.match(body.code, code, what);
  }
  for (const format of ['packed', 'tpm', 'apple', 'android-key', 'android-safetynet', 'fido-u2f', 'x']) {
    const { status, body } = await tools.add(browser, format, { attestation: { ...certificate, format } });
    assert.deepEqual([status, body.code], [400, 'invalid'], `${format}: certificates are not even read`);
  }
  // CBOR of another shape: a number, a map without a statement, a list in a list in a list.
  for (const attestation of [Buffer.from([1]), Buffer.from('a163666d74667061636b6564', 'hex'), Buffer.alloc(5_000, 0x81)]) {
    const { body } = await tools.ask(browser, '/account/passkeys/options');
    const made = JSON.parse(tools.create(body.publicKey));
    made.response.attestationObject = attestation.toString('base64url');
    const answer = await tools.ask(browser, '/account/passkeys', { credential: JSON.stringify(made) });
    assert.deepEqual([answer.status, answer.body.code], [401, 'passkey_wrong'], attestation.toString('hex', 0, 20));
  }
  assert.deepEqual(await qd.app.db.read((tx) => passkeysOf(tx, qd.owner.userId)), [], 'none was added');

  tools.credentials.length = 0;
  assert.equal((await tools.add(browser)).status, 200);
  const visitor = tools.visitor();
  const more: typeof wrong = [
    ['another key', { isForged: true }, /^passkey_wrong$/],
    ['another person', { userHandle: Buffer.from('usr_elsewhere').toString('base64url') }, /^passkey_wrong$/],
  ];
  for (const [what, lies, code] of [...wrong, ...more]) {
    const { status, body } = await tools.signIn(visitor, lies);
    assert.equal(status, 401, what);
    assert.match(body.code, code, what);
  }
  assert.equal(visitor.cookies.get('qd'), undefined);
  for (const credential of ['', 'null', '{}', '[]', '"x"', JSON.stringify({ id: 'a', rawId: 'a', type: 'public-key', response: {} })])
    assert.equal((await tools.ask(visitor, '/sign-in/passkey', { credential })).status, 401, credential);
  assert.equal((await tools.signIn(visitor)).status, 200, 'no wrong one locks the account');

  // A counter that goes back may be a copy: it is told, and not refused.
  assert.equal((await tools.signIn(tools.visitor(), { counter: 1 })).status, 200);
  const { entries } = (await qd.owner.get('/organization/audit?limit=5')).body as { entries: { action: string; detail: unknown }[] };
  const told = entries.filter(({ action }) => action === 'account.passkey.went-back');
  assert.equal(told.length, 1);
  assert.deepEqual(Object.keys(told[0]!.detail as object), ['before', 'counter']);
});
