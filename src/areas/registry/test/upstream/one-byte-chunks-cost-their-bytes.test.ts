// alone: it measures what the process holds in memory
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { assertCostsItsBytes, oneByteServer } from '../../../../../test/harness/one-byte-chunks.ts';
import { makeGuard, parseAllow } from '../../../../kernel/guard/index.ts';
import { makeLog } from '../../../../kernel/log.ts';
import { makeIssuers } from '../../clients/issuers.ts';
import { basic } from '../credentials.ts';

const padding = ' '.repeat(60_000);

test('an upstream’s manifest in one-byte chunks costs its bytes, and arrives', async (t) => {
  const mediaType = 'application/vnd.oci.image.index.v1+json';
  const manifest = JSON.stringify({ schemaVersion: 2, mediaType, manifests: [] }) + padding;
  const digest = `sha256:${createHash('sha256').update(manifest).digest('hex')}`;
  const upstream = await oneByteServer(t, manifest, { 'content-type': mediaType, 'docker-content-digest': digest });
  const { owner, url } = await quarterdeck(t, {
    env: { QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'upstream=127.0.0.0/8', QUARTERDECK_REGISTRY_UPSTREAMS: `up.test=${upstream.url}` },
  });
  await owner.post('/registry/registries', { slug: 'acme' });
  const { keyId, secret } = (await owner.post('/registry/registries/acme/keys', { name: 'puller', mode: 'readwrite' })).body;
  const headers = { authorization: basic(keyId, secret) };

  let pulled: Promise<Response> | undefined;
  const pull = () => {
    pulled = fetch(`${url}/v2/acme/up.test/team/app/manifests/v1`, { headers });
  };
  const kept = await upstream.kept(1, pull);
  upstream.finish();
  const answer = await pulled!;
  assert.equal(answer.status, 200);
  assert.equal(await answer.text(), manifest);
  assertCostsItsBytes(kept, manifest.length);
});

test('an issuer’s documents in one-byte chunks cost their bytes, and are understood', async (t) => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const key = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' };
  // One document serves as both: the discovery document and the key set.
  const issuer = await oneByteServer(t, (url) => JSON.stringify({ issuer: url, jwks_uri: `${url}/keys`, keys: [key] }) + padding);
  const guard = makeGuard({ allow: parseAllow('oidc=127.0.0.0/8') });
  const timeouts = { connectMs: 60_000, headersMs: 60_000, idleMs: 60_000, totalMs: 60_000 };
  const issuers = makeIssuers({ guard, log: makeLog('silent'), clock: async () => Date.now(), mayBePlain: () => true, timeouts });
  const claims = new SignJWT({ sub: 'me', aud: 'us' }).setProtectedHeader({ alg: 'ES256', kid: 'one' });
  const token = await claims.setIssuer(issuer.url).setIssuedAt().setExpirationTime('5m').sign(privateKey);

  let verified: ReturnType<typeof issuers.verify> | undefined;
  const verify = () => {
    verified = issuers.verify(issuer.url, token);
  };
  const kept = await issuer.kept(1, verify);
  issuer.finish();
  assert.equal((await verified!).subject, 'me');
  assertCostsItsBytes(kept, padding.length);
});
