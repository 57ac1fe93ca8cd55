import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { quarterdeck } from '../../../test/harness/index.ts';
import { DetailBudget, shortDetail } from '../rules/audit-detail.ts';

test('long lists and texts are kept by their count and their hash', () => {
  const ids = Array.from({ length: 1_000 }, (_, n) => `svc_${n}`);
  const short = shortDetail({ name: 'x', scope: [{ role: 'r', resourceIds: ids }], enabled: false, at: new Date(0) }) as {
    scope: { resourceIds: { entries: number; sha256: string } }[];
  };
  const { entries, sha256 } = short.scope[0]!.resourceIds;
  assert.deepEqual([entries, sha256.length], [1_000, 64]);
  assert.deepEqual({ ...short, scope: undefined }, { name: 'x', scope: undefined, enabled: false, at: new Date(0) });
  const [same, other] = [shortDetail({ ids }), shortDetail({ ids: [...ids].reverse() })];
  assert.deepEqual(shortDetail({ ids: [...ids] }), same, 'two of the same are told to be the same');
  assert.notDeepEqual(other, same);
  assert.deepEqual(shortDetail({ ids: ids.slice(0, 20), text: 'x'.repeat(500) }), { ids: ids.slice(0, 20), text: 'x'.repeat(500) });
  assert.equal((shortDetail({ text: 'x'.repeat(501) }).text as { characters: number }).characters, 501);
});

test('no detail has more than a few KiB, whatever it is made of', () => {
  const deep = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, fc.string({ maxLength: 600 }), fc.array(tie('value'), { maxLength: 30 }), tie('object')),
    object: fc.dictionary(fc.string({ maxLength: 20 }), tie('value'), { maxKeys: 30 }),
  }));
  fc.assert(
    fc.property(deep.object, (detail) => JSON.stringify(shortDetail(detail as Record<string, unknown>)).length < 10_000),
    { numRuns: 50 },
  );
});

test('beyond its budget an organization’s details shrink, and no other’s; the next day they are whole again', () => {
  let now = 0;
  const budget = new DetailBudget(10_000, () => now);
  const detail = { text: 'x'.repeat(400), name: 'shop' };
  const spend = (org: string) => budget.spend(org, detail);
  for (let n = 0; n < 23; n++) assert.deepEqual(spend('org_a'), detail);
  for (let n = 0; n < 100; n++) assert.deepEqual(Object.keys(spend('org_a')), ['bytes', 'sha256']);
  assert.deepEqual(budget.spend('org_a', { name: 'short' }), { name: 'short' }, 'what is no longer than its hash is kept');
  assert.deepEqual(spend('org_b'), detail);
  now += 86_400_000;
  for (let n = 0; n < 23; n++) assert.deepEqual(spend('org_a'), detail);
});

test('a change with a long text is kept wherever that is cut', async (t) => {
  const { owner } = await quarterdeck(t);
  const role = await owner.post('/iam/roles', { name: 'reader', permissions: ['clusters.cluster.read'] });
  for (const begin of ['x', 'xy']) {
    const { status, body } = await owner.patch(`/iam/roles/${role.body.id}`, { description: `${begin}${'😀'.repeat(300)}` });
    assert.equal(status, 200, JSON.stringify(body));
  }
  const [kept] = (await owner.get('/organization/audit')).body.entries;
  assert.equal(kept.action, 'iam.role.update');
});
