import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { collect } from '../../engine/gc/collect.ts';
import { manifestsPerPurgeBatch, purgeManifest } from '../../engine/purge.ts';
import { correctDrift } from '../../engine/quota.ts';
import { withoutDelay } from '../../engine/removal.ts';
import { repositoryByName } from '../../store/repositories.ts';
import { type Image, imageOf, pushImage, registryServer, someBytes, type TestRegistry } from '../registry-server.ts';

const { signal } = new AbortController();

/** Purges an image of the repository `app` with this many signatures. */
async function purgeSigned({ send, app }: TestRegistry, slug: string, as: string, image: Image, signatures: number) {
  await pushImage(send, `${slug}/app`, image.digest, image, as);
  await app.db.write(async (tx) => {
    const repository = (await repositoryByName(tx, `reg_${slug}`, 'app'))!;
    await run(tx)`
      insert into registry.manifest (org_id, repository_id, digest, media_type, subject, body, size, weight, content_bytes, pushed_by, created_at)
      select ${repository.org_id}, ${repository.id}, 'sha256:' || lpad(i::text, 64, '0'), ${image.type}, ${image.digest}, 'x', 1, 1, 1, 'k', kernel.now()
        from generate_series(1, ${signatures}) i`;
    await correctDrift(tx, `reg_${slug}`);
    await purgeManifest(tx, app.caches, repository, image.digest, withoutDelay);
  });
}

test('a purge of very many images does not delay the space of other tenants', async (t) => {
  const server = await registryServer(t);
  const { app, registry, allow, engine } = server;
  await registry('large', 1e12, 'org_a');
  await registry('small', 1e12, 'org_b');
  for (const slug of ['large', 'small']) allow(slug, { [slug]: { registryId: `reg_${slug}` } });
  const figures = async (slug: string) =>
    (await app.db.read(
      (tx) => row(tx, Type.Object({ used: Type.Integer(), doomed: Type.Integer() }))`
        select g.used_bytes as used,
               (select count(*) from registry.doomed_manifest d join registry.repository r on r.id = d.repository_id where r.registry_id = g.id) as doomed
          from registry.registry g where g.slug = ${slug}`,
    ))!;
  await purgeSigned(server, 'large', 'large', imageOf([someBytes(1000)]), 10 * manifestsPerPurgeBatch);
  await purgeSigned(server, 'small', 'small', imageOf([someBytes(500_000)]), 2 * manifestsPerPurgeBatch);
  assert.equal((await figures('small')).doomed, manifestsPerPurgeBatch);
  assert.ok((await figures('small')).used > 500_000);

  // Two purge batches, each followed by due entries: one of the batches belongs to the other tenant.
  await collect(engine, signal, app.log, 2 * manifestsPerPurgeBatch + 1);
  assert.deepEqual(await figures('small'), { used: 0, doomed: 0 });
  assert.ok((await figures('large')).doomed >= 7 * manifestsPerPurgeBatch);

  await collect(engine, signal, app.log);
  assert.deepEqual(await figures('large'), { used: 0, doomed: 0 });
});
