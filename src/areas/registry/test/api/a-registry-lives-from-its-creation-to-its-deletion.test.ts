import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';

test('a registry lives from its creation to its deletion', async (t) => {
  const { owner, app } = await quarterdeck(t);
  const made = await owner.post('/registry/registries', { slug: 'acme' });
  assert.equal(made.status, 201);
  assert.equal(made.headers.get('location'), '/api/v1/registry/registries/acme');
  const { createdAt, ...rest } = made.body;
  assert.ok(createdAt);
  assert.deepEqual(rest, { slug: 'acme', displayName: 'acme', region: 'local', storageQuotaBytes: 10 * 2 ** 30, usedBytes: 0 });
  assert.equal(
    (await owner.post('/registry/registries', { slug: 'zeta', displayName: ' Zeta ', region: 'local' })).body.displayName,
    'Zeta',
  );
  assert.deepEqual(
    (await owner.get('/registry/registries')).body.registries.map((r: { slug: string }) => r.slug),
    ['zeta', 'acme'],
    'newest first',
  );

  await t.test('invalid requests are refused', async () => {
    const refused: [unknown, number][] = [
      [{ slug: 'acme' }, 409],
      ...['v2', 'token', 'library', 'oidc', 'metrics'].map((slug): [unknown, number] => [{ slug }, slug.length < 3 ? 400 : 409]),
      ...['ab', 'Acme', '-acme', 'acme-', 'a_b_c', 'x'.repeat(41), 'acme/app'].map((slug): [unknown, number] => [{ slug }, 400]),
      [{ slug: 'elsewhere', region: 'mars' }, 400],
      [{ slug: 'unknown-field', quota: 1 }, 400],
      [{}, 400],
    ];
    for (const [body, status] of refused)
      assert.equal((await owner.post('/registry/registries', body)).status, status, JSON.stringify(body));
    await app.db.write((tx) => run(tx)`update identity.org set payment_active = false where id = ${owner.orgId}`);
    assert.equal((await owner.post('/registry/registries', { slug: 'unpaid' })).status, 402);
  });

  await t.test('its name and rules change', async () => {
    const at = '/registry/registries/acme';
    assert.equal((await owner.patch(at, {})).status, 200);
    const retention = { untaggedDays: 7, rules: [{ repositories: 'team/*', tags: 'pr-*', keepLast: 3 }] };
    const changed = await owner.patch(at, { displayName: 'Acme Inc.', immutableTags: ['v*'], retention });
    assert.deepEqual([changed.body.displayName, changed.body.immutableTags, changed.body.retention], ['Acme Inc.', ['v*'], retention]);
    assert.deepEqual((await owner.get(at)).body.retention, retention);
    assert.deepEqual((await owner.patch(at, { immutableTags: [] })).body.retention, retention, 'absent is unchanged');
    for (const body of [
      { retention: { rules: [{ tags: 'x' }] } },
      { retention: { untaggedDays: 0 } },
      { immutableTags: ['a b'] },
      { displayName: null },
      { slug: 'other' },
    ]) {
      assert.equal((await owner.patch(at, body)).status, 400, JSON.stringify(body));
    }
  });

  await t.test('its rules for CI are checked as they are written', async () => {
    const good = {
      issuer: 'https://token.actions.githubusercontent.com',
      audience: 'acme',
      subjectPattern: 'repo:acme/app:**',
      mode: 'pull',
    };
    const at = '/registry/registries/acme/oidc-rules';
    const bad = [
      { issuer: 'http://ci.example' },
      { issuer: 'http://127.0.0.1:9' },
      { issuer: 'https://127.0.0.1:9' },
      { issuer: 'https://10.0.0.1/x' },
      { issuer: 'https://ci.example/?x=1' },
      { issuer: 'https://user@ci.example' },
      { issuer: 'ftp://ci.example' },
      { subjectPattern: 'repo:*/app:**' },
      { subjectPattern: '' },
      { audience: '' },
      { mode: 'push' },
      { repoPrefixes: ['/x'] },
      { repoPrefixes: [] },
    ];
    for (const change of bad) assert.equal((await owner.post(at, { ...good, ...change })).status, 400, JSON.stringify(change));
    const first = (await owner.post(at, good)).body;
    const second = (await owner.post(at, { ...good, name: 'releases', mode: 'readwrite', repoPrefixes: ['release'] })).body;
    assert.deepEqual((await owner.get(at)).body.rules, [second, first]);
  });

  await t.test('it is deleted when it is empty', async () => {
    await app.db.write(
      (tx) => run(tx)`
      insert into registry.repository (org_id, registry_id, name, created_at) select org_id, id, 'left', kernel.now() from registry.registry where slug = 'acme'`,
    );
    const refused = await owner.delete('/registry/registries/acme');
    assert.equal(refused.status, 409);
    assert.match(refused.body.error, /1 repository; delete them first/);
    assert.equal((await owner.delete('/registry/registries/acme/repositories?repo=left')).status, 204);
    assert.equal((await owner.delete('/registry/registries/acme')).status, 204);
    assert.equal((await owner.get('/registry/registries/acme')).status, 404);
    assert.equal((await owner.delete('/registry/registries/acme')).status, 404);
    const actions = (await owner.get('/organization/audit?limit=100')).body;
    for (const action of [
      'registry.registry.create',
      'registry.registry.update',
      'registry.oidc.create',
      'registry.repository.delete',
      'registry.registry.delete',
    ]) {
      assert.ok(JSON.stringify(actions).includes(action), action);
    }
  });
});
