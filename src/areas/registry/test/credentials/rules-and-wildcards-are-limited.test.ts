import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { maxRulesPerRegistry } from '../../engine/credentials/keys.ts';
import { covers } from '../../rules/access.ts';
import { immutableIn } from '../../rules/immutable.ts';
import { isName } from '../../rules/names.ts';
import { badPrefix } from '../../rules/prefixes.ts';
import { matchesSubject } from '../../rules/subject-pattern.ts';
import { compileGlob } from '../../rules/wildcards.ts';

// A matcher that backtracks would need more steps here than there are seconds in a year: it would not come to its answer.
test('hostile patterns of every kind are answered', () => {
  const text = `${'a'.repeat(254)}b`;
  const glob = `${'a*'.repeat(127)}c`;
  assert.equal(compileGlob(glob)(text), false);
  assert.equal(compileGlob(`*${'a*'.repeat(126)}b`)(text), true);
  assert.equal(immutableIn(Array(100).fill(`${glob}:${'*a'.repeat(60)}c`), text)(text), false);
  assert.equal(matchesSubject(`${'*a'.repeat(255)}:`, 'a'.repeat(16_000)), false);
  assert.equal(matchesSubject(`${'**a*'.repeat(128)}b`, 'a'.repeat(16_000)), false);
  assert.equal(isName(`${'a-'.repeat(100)}${'-'.repeat(100)}`), false);
  assert.equal(badPrefix([`${'a__'.repeat(66)}_`]), `${'a__'.repeat(66)}_`);
  assert.equal(covers(Array(1000).fill('a'.repeat(200)), text), false);
});

test('the rules of a registry and the wildcards of a pattern are limited', async (t) => {
  const { owner } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const rule = { issuer: 'https://ci.example', audience: 'quarterdeck', mode: 'pull' };
  const create = (subjectPattern: string) => owner.post('/registry/registries/acme/oidc-rules', { ...rule, subjectPattern });

  const wild = await create(`job${':*x'.repeat(17)}`);
  assert.deepEqual([wild.status, /at most 16 wildcards/.test(wild.body.error)], [400, true]);
  assert.equal((await create(`job:${'*'.repeat(500)}`)).status, 201, 'stars in a row are one wildcard');
  const update = (body: object) => owner.patch('/registry/registries/acme', body);
  assert.equal((await create('x'.repeat(513))).status, 400);
  assert.equal((await update({ immutableTags: ['v*'.repeat(17)] })).status, 400);
  assert.equal((await update({ immutableTags: ['v'.repeat(256)] })).status, 400);
  assert.equal((await update({ immutableTags: Array(101).fill('v') })).status, 400);
  assert.equal((await update({ retention: { rules: Array(51).fill({ tags: 'v', keepLast: 1 }) } })).status, 400);
  const key = (repoPrefixes: string[]) => owner.post('/registry/registries/acme/keys', { name: 'k', mode: 'pull', repoPrefixes });
  assert.equal((await key(['x'.repeat(201)])).status, 400);
  assert.equal((await key(Array(1001).fill('x'))).status, 400);
  assert.equal((await key(['team/*'])).status, 400, 'a prefix has no wildcards');
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
