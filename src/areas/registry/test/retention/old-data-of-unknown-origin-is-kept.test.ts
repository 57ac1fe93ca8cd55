import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import pg from 'pg';
import { freshDatabase, stopOwnServer } from '../../../../../test/harness/postgres.ts';
import { migrate, readMigrations } from '../../../../kernel/migrate.ts';

after(stopOwnServer);

test('old data of unknown origin is kept', async (t) => {
  const { connection, drop } = await freshDatabase({ empty: true });
  const all = readMigrations([
    { schema: 'kernel', folder: new URL('../../../../kernel/migrations/', import.meta.url) },
    { schema: 'registry', folder: new URL('../../migrations/', import.meta.url) },
  ]);
  await migrate(connection, all, new Set(all.map((m) => m.id).filter((id) => !/0003_kept$|0020_pushes_by_time$/.test(id))));
  const client = new pg.Client(connection);
  await client.connect();
  t.after(async () => {
    await client.end();
    await drop();
  });
  await client.query(`
    set search_path = registry;
    insert into registry (org_id, id, slug, display_name, region, quota_bytes, created_at) values ('o', 'g', 'acme', 'acme', 'local', 1, now());
    insert into repository (org_id, registry_id, name, upstream_host, created_at) values
      ('o', 'g', 'up.test/cache', 'up.test', now()), ('o', 'g', 'up.test/mixed', 'up.test', now()), ('o', 'g', 'up.test/renamed', 'up.test', now()), ('o', 'g', 'own', null, now());
    insert into manifest (org_id, repository_id, digest, media_type, body, size, pushed_by, created_at)
      select 'o', r.id, v.digest, 't', '', 1, v.by, now() from repository r join (values
        ('up.test/cache', 'tagged', 'cache'), ('up.test/cache', 'untagged', 'cache'), ('up.test/renamed', 'renamed', 'cache'),
        ('up.test/mixed', 'fetched', 'cache'), ('up.test/mixed', 'pushed', 'key_1'), ('own', 'own', 'key_1')) v (name, digest, by) on v.name = r.name;
    insert into tag (repository_id, name, manifest_id, updated_at)
      select m.repository_id, v.tag, m.id, now() from manifest m join (values ('tagged', 'v1'), ('renamed', 'mine')) v (digest, tag) on v.digest = m.digest;
    insert into cache_entry (repository_id, tag, digest, checked_at) select repository_id, name, 'tagged', now() from tag;
    insert into blob (digest, size, storage_key, created_at) select d, 1, d, now() from unnest(array['layer', 'loose']) d;
    insert into manifest_blob select id, repository_id, 'layer', 1 from manifest where digest in ('untagged', 'renamed', 'fetched', 'own');
    insert into repository_blob (repository_id, blob_id, registry_id, touched_at) select r.id, b.id, 'g', now() from repository r, blob b`);
  assert.deepEqual(await migrate(connection, all), ['registry/0003_kept', 'registry/0020_pushes_by_time']);
  const cached = async (what: string) => (await client.query(what)).rows.map((r) => r.name).sort();
  assert.deepEqual(await cached('select digest as name from registry.manifest where cached'), ['tagged', 'untagged']);
  assert.deepEqual(
    await cached(`select r.name || ' ' || b.digest as name from registry.repository_blob l
      join registry.repository r on r.id = l.repository_id join registry.blob b on b.id = l.blob_id where l.cached`),
    ['up.test/cache layer'],
  );
});
