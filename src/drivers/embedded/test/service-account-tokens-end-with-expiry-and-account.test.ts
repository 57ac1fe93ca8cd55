import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { embedded } from './support.ts';

const accounts = '/api/v1/namespaces/default/serviceaccounts';
const tokens = `${accounts}/robot/token`;
const review = '/apis/authentication.k8s.io/v1/tokenreviews';

test('service account tokens end with their expiry and with their account', async (t) => {
  const { call, as, deck, options } = await embedded(t);
  const whoami = async (token: string) => {
    const { status, body } = await as(token)('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {});
    return status === 201 ? body.status.userInfo.username : status;
  };
  await call('POST', accounts, { metadata: { name: 'robot' } });
  const ask = (expirationSeconds?: number) => call('POST', tokens, { spec: expirationSeconds ? { expirationSeconds } : {} });
  const short = await ask(60);
  assert.equal(short.status, 422);
  assert.match(short.body.message, /may not specify a duration less than 10 minutes/);

  const first = await ask(600);
  assert.equal(first.status, 201, first.text);
  const { token, expirationTimestamp } = first.body.status;
  assert.match(expirationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.equal(await whoami(token), 'system:serviceaccount:default:robot');
  assert.equal((await as(token)('GET', '/api/v1/namespaces/default/configmaps')).status, 403);
  assert.equal((await call('POST', review, { spec: { token } })).body.status.authenticated, true);

  // Forged tokens: signed by another key, for another audience, or without a signature.
  const [head, body] = token.split('.') as [string, string];
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const forged = sign('sha256', Buffer.from(`${head}.${body}`), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  assert.equal(await whoami(`${head}.${body}.${forged}`), 401);
  assert.equal(await whoami(`${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`), 401);
  assert.equal(await whoami(`${head}.${body}.`), 401);
  const elsewhere = await call('POST', tokens, { spec: { audiences: ['vault'] } });
  assert.equal(await whoami(elsewhere.body.status.token), 401);
  assert.deepEqual(elsewhere.body.spec.audiences, ['vault']);
  assert.notEqual(options.serviceAccount.audience, 'vault');

  await deck.clock.advance('11m');
  assert.equal(await whoami(token), 401, 'its time is over');
  assert.equal((await call('POST', review, { spec: { token } })).body.status.authenticated, false);

  const second = (await ask()).body.status.token;
  assert.equal(await whoami(second), 'system:serviceaccount:default:robot');
  await call('DELETE', `${accounts}/robot`);
  assert.equal(await whoami(second), 401, 'its account is gone');
  await call('POST', accounts, { metadata: { name: 'robot' } });
  assert.equal(await whoami(second), 401, 'another account of that name');
});
