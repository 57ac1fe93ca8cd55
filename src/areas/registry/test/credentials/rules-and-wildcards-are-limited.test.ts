import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { maxRulesPerRegistry } from '../../engine/credentials/keys.ts';

test('the rules of a registry and the wildcards of a pattern are limited', async (t) => {
  const { owner } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const rule = { issuer: 'https://ci.example', audience: 'quarterdeck', mode: 'pull' };
  const create = (subjectPattern: string) => owner.post('/registry/registries/acme/oidc-rules', { ...rule, subjectPattern });

  const wild = await create(`job${':*x'.repeat(17)}`);
  assert.deepEqual([wild.status, /at most 16 wildcards/.test(wild.body.error)], [400, true]);
  assert.equal((await create(`job:${'*'.repeat(500)}`)).status, 201, 'stars in a row are one wildcard');
  const update = (body: object) => owner.patch('/registry/registries/acme', body);
  assert.equal((await update({ immutableTags: ['v*'.repeat(17)] })).status, 400);
  assert.equal((await update({ retention: { rules: [{ tags: 'v*'.repeat(17), keepLast: 1 }] } })).status, 400);
  assert.equal((await update({ retention: { rules: [{ repositories: 'v*'.repeat(17), keepLast: 1 }] } })).status, 400);
  assert.equal((await update({ immutableTags: ['v*'.repeat(16)] })).status, 200);

  // Two at a time: only one of them takes the last place.
  const rest = Array.from({ length: maxRulesPerRegistry }, (_, i) => `job:${i}`);
  const statuses: number[] = [];
  for (let i = 0; i < rest.length; i += 10)
    statuses.push(...(await Promise.all(rest.slice(i, i + 10).map(create))).map((answer) => answer.status));
  assert.equal(statuses.filter((status) => status === 201).length, maxRulesPerRegistry - 1);
  assert.equal(statuses.filter((status) => status === 403).length, 1);
});
