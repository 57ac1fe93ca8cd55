import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { weighManifests } from '../../engine/gc/weigh.ts';
import { manifestsOf, maxReferrersShown } from '../../store/images.ts';
import { repositoryByName } from '../../store/repositories.ts';
import { imageOf, indexOf, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

test('the size of an image is counted when it is pushed, and lists only read it', async (t) => {
  const { send, app } = await registryServer(t);
  const shared = someBytes(1_000);
  const [one, two] = [imageOf([shared, someBytes(300)]), imageOf([shared, someBytes(70)])];
  const late = imageOf([someBytes(5)]);
  const inner = indexOf([one, two, late]);
  const outer = indexOf([inner, one]);
  for (const image of [one, two]) await pushImage(send, 'acme/app', image.digest, image);
  for (const index of [inner, outer]) assert.equal((await putManifest(send, 'acme/app', index.digest, index)).status, 201);

  const { id } = (await app.db.read((tx) => repositoryByName(tx, 'reg_acme', 'app')))!;
  const sizes = async () =>
    new Map((await app.db.read((tx) => manifestsOf(tx, id, { limit: 1_000, after: null }))).map((m) => [m.digest, m.size_bytes]));
  const bytes = (...parts: Buffer[]) =>
    [...new Set(parts.map((part) => part.toString('base64')))].reduce((sum, part) => sum + Buffer.from(part, 'base64').length, 0);
  const of = {
    one: bytes(one.body, ...one.blobs),
    inner: bytes(inner.body, one.body, two.body, ...one.blobs, ...two.blobs),
    outer: bytes(outer.body, inner.body, one.body, two.body, ...one.blobs, ...two.blobs),
  };
  const check = async (expected: typeof of, why: string) => {
    const found = await sizes();
    assert.deepEqual({ one: found.get(one.digest), inner: found.get(inner.digest), outer: found.get(outer.digest) }, expected, why);
  };
  await check(of, 'at the push');

  // A child that is added later, or deleted: the indexes above it are recounted.
  await pushImage(send, 'acme/app', late.digest, late);
  const { signal } = new AbortController();
  assert.equal(await weighManifests(app, signal, app.log), 2);
  const more = bytes(late.body, ...late.blobs.filter((blob) => !one.blobs.some((other) => other.equals(blob))));
  await check({ ...of, inner: of.inner + more, outer: of.outer + more }, 'with the late one');
  assert.equal((await send('DELETE', `/v2/acme/app/manifests/${late.digest}`)).status, 202);
  assert.equal(await weighManifests(app, signal, app.log), 2);
  await check(of, 'without it');

  // The task counts old data.
  await app.db.write((tx) => run(tx)`update registry.manifest set content_bytes = null`);
  assert.equal(await weighManifests(app, signal, app.log), 4);
  await check(of, 'counted later');

  // The list reads no children or layers.
  await app.db.write((tx) => run(tx)`delete from registry.manifest_child`);
  await check(of, 'as it was stored');
  await app.db.write(
    (tx) => run(tx)`
      insert into registry.manifest (org_id, repository_id, digest, media_type, subject, body, size, pushed_by, created_at)
      select 'org_test', ${id}, 'sha256:' || lpad(i::text, 64, '0'), ${one.type}, ${one.digest}, 'x', 1, 'k', kernel.now()
        from generate_series(1, ${maxReferrersShown + 50}) i`,
  );
  const listed = await app.db.read((tx) => manifestsOf(tx, id, { limit: 1_000, after: null }));
  assert.equal(listed.find((m) => m.digest === one.digest)!.referrer_types.length, maxReferrersShown);
});
