import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import Type from 'typebox';
import { rows, run } from '../../../../kernel/db/index.ts';
import { weighManifests } from '../../engine/gc/weigh.ts';
import { codeOf, digestOf, type Image, imageOf, indexOf, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

const { signal } = new AbortController();
const maxSize = Number.MAX_SAFE_INTEGER;

/** An image with foreign layers of these sizes. */
function foreign(base: Image, sizes: number[]): Image {
  const layers = sizes.map((size) => ({
    mediaType: 'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip',
    digest: `sha256:${randomBytes(32).toString('hex')}`,
    size,
    urls: ['https://layers.example/'],
  }));
  const body = Buffer.from(JSON.stringify({ ...JSON.parse(base.body.toString()), layers }));
  return { ...base, body, digest: digestOf(body) };
}

test('impossible sizes are refused and stop no other count', async (t) => {
  const { send, app, registry, allow } = await registryServer(t);
  allow('bob', { other: { registryId: await registry('other', 60 * 1024 * 1024, 'org_other') } });
  const base = imageOf([]);
  await pushImage(send, 'acme/app', base.digest, base);
  for (const sizes of [Array(2_000).fill(maxSize), [maxSize, 1]]) {
    const answer = await putManifest(send, 'acme/app', 'big', foreign(base, sizes));
    assert.deepEqual([answer.status, codeOf(answer)], [400, 'MANIFEST_INVALID']);
  }

  // Each image is valid, but an index of them exceeds the largest number that can be shown.
  const config = base.blobs[0]!.length;
  const large = [1, 2].map(() => foreign(base, [maxSize - config]));
  const index = indexOf(large);
  assert.equal((await putManifest(send, 'acme/app', 'all', index)).status, 201);
  for (const image of large) assert.equal((await putManifest(send, 'acme/app', image.digest, image)).status, 201);
  // Old data: manifests of a thousand layers each were accepted.
  await app.db.write(
    (tx) => run(tx)`
      insert into registry.manifest_blob (manifest_id, repository_id, digest, size)
      select m.id, m.repository_id, 'sha256:' || lpad(m.id * 10000 + i || '', 64, '0'), ${maxSize} from registry.manifest m, generate_series(1, 1000) i
       where m.digest = any(${large.map((m) => m.digest)}::text[])`,
  );
  const child = imageOf([someBytes(5_000)]);
  assert.equal((await putManifest(send, 'other/app', 'v1', indexOf([child]), 'bob')).status, 201);
  await pushImage(send, 'other/app', child.digest, child, 'bob');

  await weighManifests(app, signal, app.log);
  const counted = await app.db.read(
    (tx) => rows(tx, Type.Object({ bytes: Type.Union([Type.Integer(), Type.Null()]) }))`
      select m.content_bytes as bytes from registry.manifest m join registry.tag t on t.manifest_id = m.id order by t.name`,
  );
  assert.equal(counted[0]!.bytes, maxSize);
  assert.ok(counted[1]!.bytes! > 5_000);
});

test('an image whose size cannot be counted stops no other', async (t) => {
  const { send, app } = await registryServer(t);
  const images = Array.from({ length: 5 }, () => imageOf([someBytes(100)]));
  for (const image of images) await pushImage(send, 'acme/app', image.digest, image);
  const broken = images[0]!.digest;
  await app.db.write(async (tx) => {
    await run(tx)`update registry.manifest set content_bytes = null`;
    await run(tx)`
      create function registry.fail() returns trigger language plpgsql as $$ begin
        if new.content_bytes is not null and old.id = (select min(id) from registry.manifest) then raise numeric_value_out_of_range; end if;
        return new;
      end $$`;
    await run(tx)`create trigger fail before update on registry.manifest for each row execute function registry.fail()`;
  });
  assert.equal(await weighManifests(app, signal, app.log), 4);
  const left = await app.db.read(
    (tx) => rows(tx, Type.Object({ digest: Type.String() }))`select digest from registry.manifest where content_bytes is null`,
  );
  assert.deepEqual(left, [{ digest: broken }]);
});
