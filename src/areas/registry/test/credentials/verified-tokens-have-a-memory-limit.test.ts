import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import type { Caches } from '../../../../kernel/cache.ts';
import { maxTokenLength } from '../../engine/credentials/bearer-tokens.ts';
import type { Grant } from '../../engine/credentials/types.ts';
import { makeVerifiedTokens, maxCacheBytes } from '../../engine/credentials/verified-tokens.ts';
import { basic, tokenFor } from '../credentials.ts';

test('verified tokens have a memory limit by credential, by organization and in total', () => {
  let drop = () => {};
  const caches = {
    make: () => ({
      peek: () => undefined,
      get: async () => undefined,
      onDrop: (act: () => void) => {
        drop = act;
      },
    }),
  } as unknown as Caches;
  const verified = makeVerifiedTokens(caches);
  const grant = (org: string, keyId: string): Grant => ({ hash: undefined, keyId, org, scopes: new Map() });
  const token = (name: string) => name.padEnd(maxTokenLength, '.');

  verified.keep(token('other'), grant('org_b', 'key_other'), 600_000);
  for (let n = 0; n < 1_000; n++) verified.keep(token(`one ${n}`), grant('org_a', 'key_one'), 600_000);
  assert.ok(verified.bytes() <= maxCacheBytes.credential + 50_000, 'one credential');
  assert.equal(verified.find(token('one 0')), undefined);
  assert.equal(verified.find(token('one 999'))?.keyId, 'key_one');
  for (let n = 0; n < 1_000; n++) verified.keep(token(`many ${n}`), grant('org_a', `key_${n}`), 600_000);
  assert.ok(verified.bytes() <= maxCacheBytes.organization + 50_000, 'one organization');
  assert.equal(verified.find(token('other'))?.org, 'org_b', 'and another one loses nothing by it');
  for (let n = 0; n < 2_000; n++) verified.keep(token(`org ${n}`), grant(`org_${n}`, `key_of_${n}`), 600_000);
  assert.ok(verified.bytes() <= maxCacheBytes.total, 'all of them');

  verified.keep('over', grant('org_a', 'key_one'), 0);
  assert.equal(verified.find('over'), undefined, 'what has ended is forgotten');
  drop();
  assert.equal(verified.bytes(), 0);
});

test('no issued token exceeds the length limit, and a longer one is rejected', async (t) => {
  const { owner, url } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const { keyId, secret } = (await owner.post('/registry/registries/acme/keys', { name: 'ci', mode: 'pull' })).body;
  const scopes = (count: number) => Array.from({ length: count }, (_, n) => `repository:acme/${'a'.repeat(150)}${n}:pull`);
  assert.equal((await tokenFor(url, basic(keyId, secret), scopes(10))).status, 200);
  const refused = await tokenFor(url, basic(keyId, secret), scopes(60));
  assert.equal(refused.status, 400);
  const long = await fetch(`${url}/v2/`, { headers: { authorization: `Bearer ${'x'.repeat(maxTokenLength + 1)}` } });
  assert.equal(long.status, 401);
});
