import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { collect } from '../../engine/gc/collect.ts';
import { retain } from '../../engine/gc/retain.ts';
import { manifestsPerPurgeBatch, purgeDoomed, purgeManifest } from '../../engine/purge.ts';
import { correctDrift } from '../../engine/quota.ts';
import { withoutDelay } from '../../engine/removal.ts';
import { repositoryByName } from '../../store/repositories.ts';
import { imageOf, pushImage, putManifest, registryServer, type TestRegistry } from '../registry-server.ts';

const { signal } = new AbortController();
const many = 200;

/** An image of `acme/app` with this many referrers, each 1 byte in the quota. */
async function signed({ send, app }: TestRegistry) {
  const image = imageOf([]);
  await pushImage(send, 'acme/app', image.digest, image);
  await app.db.write(async (tx) => {
    await run(tx)`
      insert into registry.manifest (org_id, repository_id, digest, media_type, subject, body, size, weight, content_bytes, pushed_by, created_at)
      select 'org_test', r.id, 'sha256:' || lpad(i::text, 64, '0'), ${image.type}, ${image.digest}, 'x', 1, 1, 1, 'k', kernel.now()
        from registry.repository r, generate_series(1, ${many}) i`;
    await correctDrift(tx, 'reg_acme');
  });
  return image;
}

const count = async ({ app }: TestRegistry) =>
  (await app.db.read(
    (tx) => row(tx, Type.Object({ manifests: Type.Integer(), doomed: Type.Integer() }))`
      select (select count(*) from registry.manifest) as manifests, (select count(*) from registry.doomed_manifest) as doomed`,
  ))!;
const addsUp = async ({ app }: TestRegistry) => assert.equal(await app.db.write((tx) => correctDrift(tx, 'reg_acme')), false);

test('an image with very many signatures is purged completely, in batches', async (t) => {
  const server = await registryServer(t);
  const { app, engine } = server;
  const image = await signed(server);
  await app.db.write((tx) => run(tx)`update registry.registry set retention = '{"untaggedDays": 1}'`);
  await app.db.write((tx) => moveClock(tx, 3 * 86_400));
  await retain(engine, signal, app.log);
  assert.deepEqual(await count(server), { manifests: many - manifestsPerPurgeBatch, doomed: many - manifestsPerPurgeBatch });
  await addsUp(server);
  assert.equal((await server.send('HEAD', `/v2/acme/app/manifests/${image.digest}`)).status, 404);

  // Another server may take batches as well: neither waits for the other.
  await Promise.all([1, 2].map(() => purgeDoomed(app.db, app.caches)));
  await addsUp(server);
  await collect(engine, signal, app.log);
  assert.deepEqual(await count(server), { manifests: 0, doomed: 0 });
  await addsUp(server);
});

test('an image pushed again during its purge keeps the remaining signatures', async (t) => {
  const server = await registryServer(t);
  const { app, engine, send } = server;
  const image = await signed(server);
  const purged = await app.db.write(async (tx) =>
    purgeManifest(tx, app.caches, (await repositoryByName(tx, 'reg_acme', 'app'))!, image.digest, withoutDelay),
  );
  assert.deepEqual([purged.digests.length, purged.pendingCount], [manifestsPerPurgeBatch + 1, many - manifestsPerPurgeBatch]);
  assert.equal((await putManifest(send, 'acme/app', 'v1', image)).status, 201);
  await collect(engine, signal, app.log);
  assert.deepEqual(await count(server), { manifests: 1 + many - manifestsPerPurgeBatch, doomed: 0 });
  await addsUp(server);
});
