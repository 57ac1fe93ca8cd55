import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { row, run } from '../../../../kernel/db/index.ts';
import { basic, tokenFor } from '../credentials.ts';

test('a registry is deleted at once after its large repository, with very many keys, and all of it goes', async (t) => {
  const { owner, url, app } = await quarterdeck(t);
  const at = '/registry/registries/acme';
  await owner.post('/registry/registries', { slug: 'acme' });
  const key = (await owner.post(`${at}/keys`, { name: 'ci', mode: 'pull' })).body;
  const login = (await owner.post('/registry/login-credentials', {})).body;
  await app.db.write(
    (tx) => run(tx)`
      insert into registry.registry_key
      select (jsonb_populate_record(k, jsonb_build_object('key_id', 'rk_zz' || n, 'hash', sha256(('clone ' || n)::bytea), 'revoked_at', kernel.now()))).*
        from registry.registry_key k, generate_series(1, 1200) n where k.key_id = ${key.keyId}`,
  );
  await app.db.write(
    (tx) => run(tx)`
      with made as (
        insert into registry.repository (org_id, registry_id, name, created_at, size_bytes, tag_count)
        select org_id, id, 'app', kernel.now(), 0, 0 from registry.registry returning id, org_id)
      insert into registry.manifest (org_id, repository_id, digest, media_type, body, size, weight, content_bytes, pushed_by, created_at)
      select org_id, id, 'sha256:' || lpad(i::text, 64, '0'), 'application/vnd.oci.image.manifest.v1+json', 'x', 1, 1, 1, 'k', kernel.now()
        from made, generate_series(1, 1200) i`,
  );
  assert.equal((await owner.get(at)).body.repositoryCount, 1);
  assert.equal((await owner.delete(`${at}/repositories?repo=app`)).status, 204);
  assert.equal((await owner.get(at)).body.repositoryCount, 0);
  assert.deepEqual((await owner.get(`${at}/repositories`)).body.repositories, []);
  assert.equal((await owner.get(`${at}/tags?repo=app`)).status, 404);
  assert.equal((await owner.delete(`${at}/repositories?repo=app`)).status, 404);

  const scope = ['repository:acme/app:pull'];
  const credentials = [basic(key.keyId, key.secret), basic(login.username, login.password)];
  assert.equal((await tokenFor(url, credentials[0]!, scope)).status, 200);
  assert.equal((await owner.delete(at)).status, 204);
  assert.equal((await owner.post('/registry/registries', { slug: 'acme' })).status, 201, 'the slug is free');
  for (const credential of credentials) assert.equal((await tokenFor(url, credential, scope)).status, 401, 'its keys open nothing');

  const Left = Type.Object({ keys: Type.Integer(), scopes: Type.Integer(), repositories: Type.Integer(), manifests: Type.Integer() });
  const left = () =>
    app.db.read(
      (tx) => row(tx, Left)`
        select (select count(*) from registry.registry_key where minted_via = 'manual')::int as keys, (select count(*) from registry.login_scope)::int as scopes,
               (select count(*) from registry.repository)::int as repositories, (select count(*) from registry.manifest)::int as manifests`,
    );
  await eventually(async () => Object.values((await left())!).every((n) => n === 0));
});
