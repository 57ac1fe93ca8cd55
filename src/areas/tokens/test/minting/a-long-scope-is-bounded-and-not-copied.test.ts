import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { row } from '../../../../kernel/db/index.ts';

const Bytes = Type.Object({ bytes: Type.Integer() });
const manyIds = (count: number) => Array.from({ length: count }, (_, n) => `svc_${String(n).padStart(26, '0')}`);

test('a long scope is bounded, is not copied, and ends a slice early', async (t) => {
  const qd = await quarterdeck(t);
  const { app, owner } = qd;
  const role = 'uptime.viewer';
  const { id: service } = (await owner.post('/uptime/services', { name: 'shop' })).body;

  await t.test('more than a thousand ids in a new scope are 400; a thousand are judged one by one', async () => {
    const wanted = (count: number) => ({ name: 'x', scope: [1, 2].map(() => ({ role, resourceIds: manyIds(count / 2) })) });
    const refused = await owner.post('/tokens', wanted(1_002));
    assert.equal(refused.status, 400);
    assert.match(refused.body.error, /^the scope names 1002 resources, and at most 1000 in all can be named; name fewer/);
    assert.match((await owner.post('/tokens', wanted(1_000))).body.error, /is not a resource that you can see/);
    const small = (await owner.post('/tokens', { name: 'small', scope: [{ role, resourceIds: [service] }] })).body;
    const changed = await owner.patch(`/tokens/${small.id}`, { scope: wanted(1_002).scope });
    assert.deepEqual([changed.status, /1000 in all/.test(changed.body.error)], [400, true]);
  });

  // As it was made before there was a bound.
  const scope = Array.from({ length: 8 }, () => ({ role, resourceIds: [service, ...manyIds(999)] }));
  const stored = await qd.narrowed(owner, scope);

  await t.test('a stored token with more works, is renamed and revoked, and says what to do when it mints', async () => {
    assert.equal((await stored.get('/uptime/services')).body.services.length, 1);
    assert.equal((await stored.patch(`/tokens/${stored.tokenId}`, { name: 'renamed' })).status, 200);
    const refused = await stored.post('/tokens', { name: 'x' });
    assert.deepEqual([refused.status, /name fewer, or mint several tokens/.test(refused.body.error)], [400, true]);
    const made = await stored.post('/tokens', { name: 'x', scope: [{ role, resourceIds: [service] }] });
    assert.equal(made.status, 201);
    const { bytes } = (await app.db.read(
      (tx) => row(tx, Bytes)`
        select octet_length(scope::text) + octet_length(ceilings::text) as bytes from identity.token where id = ${made.body.id}`,
    ))!;
    assert.ok(bytes < 200, `${bytes} bytes`);
    // It is bounded by its minter all the same, by reference.
    assert.equal((await caller(qd.url, made.body.key).get('/uptime/services')).body.services.length, 1);
    assert.equal((await stored.patch(`/tokens/${stored.tokenId}`, { scope: [{ role, resourceIds: [service] }] })).status, 200);
    assert.equal((await caller(qd.url, made.body.key).get('/uptime/services')).body.services.length, 1);
  });

  await t.test('a list of such tokens comes in slices of about half a megabyte, and each of them once', async () => {
    for (let n = 0; n < 8; n++) await qd.narrowed(owner, scope);
    const seen: string[] = [];
    let path: string | undefined = '/tokens';
    let slices = 0;
    while (path) {
      const answer = await owner.get(path);
      assert.ok(JSON.stringify(answer.body).length < 1_000_000);
      seen.push(...answer.body.tokens.map(({ id }: { id: string }) => id));
      path = answer.body.cursor && `/tokens?cursor=${answer.body.cursor}`;
      slices++;
    }
    assert.ok(slices >= 4, `${slices} slices`);
    assert.equal(new Set(seen).size, seen.length);
    assert.ok(seen.length >= 9);
  });

  await t.test('the audit log keeps the count and the hash of a long list', async () => {
    const many = await Promise.all(
      Array.from({ length: 25 }, async (_, n) => (await owner.post('/uptime/services', { name: `s${n}` })).body.id as string),
    );
    const made = await owner.post('/tokens', { name: 'long', scope: [{ role, resourceIds: many }] });
    assert.equal(made.status, 201);
    const { entries } = (await owner.get('/organization/audit?limit=1')).body;
    assert.deepEqual([entries[0].action, entries[0].target], ['tokens.token.create', made.body.id]);
    assert.deepEqual(Object.keys(entries[0].detail.scope[0].resourceIds).sort(), ['entries', 'sha256']);
    assert.equal(entries[0].detail.scope[0].resourceIds.entries, 25);
  });
});
