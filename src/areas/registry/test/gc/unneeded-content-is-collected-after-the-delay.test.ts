import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { rows, run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { collect } from '../../engine/gc/collect.ts';
import { scrub } from '../../engine/gc/scrub.ts';
import { purgeManifest } from '../../engine/purge.ts';
import { removeRepository } from '../../engine/repository-removal.ts';
import { repositoryByName } from '../../store/repositories.ts';
import { digestOf, imageOf, indexOf, pushBlob, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

const { signal } = new AbortController();

test('unneeded content is collected after the delay and not before', async (t) => {
  const { send, app, engine } = await registryServer(t);
  const later = (seconds: number) => app.db.write((tx) => moveClock(tx, seconds));
  const work = () => collect(engine, signal, app.log);
  const stored = async () => (await Array.fromAsync(app.storage.list('sha256/'))).length;
  const has = async (name: string, digest: string) => (await send('HEAD', `/v2/${name}/blobs/${digest}`)).status === 200;
  const hour = 3_600;

  const orphan = `sha256/aa/${'a'.repeat(64)}.999999`;
  await app.storage.put(orphan, someBytes(5));
  await scrub(engine, signal, app.log);
  assert.equal(await stored(), 1, 'a young object may still get its row');
  await app.storage.remove(orphan);

  // Pushed without an image: it stays for a day after a client was last told of it.
  const stray = await pushBlob(send, 'acme/app', someBytes(10));
  await later(23 * hour);
  await work();
  assert.ok(await has('acme/app', stray), 'this answer counts, too');
  await later(2 * hour);
  await work();
  assert.equal(await stored(), 1, 'touched two hours ago');
  await later(23 * hour);
  await work();
  assert.equal(await has('acme/app', stray), false);
  assert.equal(await stored(), 0);

  // An image keeps its layers at any age; two repositories keep a shared layer independently.
  const image = imageOf([someBytes(20)]);
  const layer = digestOf(image.blobs[1]!);
  await pushImage(send, 'acme/app', 'v1', image);
  await pushImage(send, 'acme/copy', 'v1', image);
  assert.equal(await stored(), 2, 'stored once');
  await later(90 * 24 * hour);
  await work();
  assert.ok(await has('acme/app', layer));
  await send('DELETE', `/v2/acme/app/manifests/${image.digest}`);
  await later(25 * hour);
  await work();
  assert.equal(await has('acme/app', layer), false);
  assert.ok(await has('acme/copy', layer), 'the other repository still needs it');
  assert.equal(await stored(), 2);

  // A purge deletes the image, its signatures and an index's children; the bytes wait for pushes that were told of them.
  const child = imageOf([someBytes(30)]);
  const index = indexOf([child, image]);
  await pushImage(send, 'acme/copy', child.digest, child);
  await putManifest(send, 'acme/copy', 'all', index);
  const signature = imageOf([someBytes(40)], { subject: { mediaType: index.type, digest: index.digest, size: index.body.length } });
  await pushImage(send, 'acme/copy', signature.digest, signature);
  const gone = await app.db.write(async (tx) => {
    const repository = (await repositoryByName(tx, 'reg_acme', 'copy'))!;
    return purgeManifest(tx, app.caches, repository, index.digest, { delaySeconds: 0, graceSeconds: 0 });
  });
  assert.deepEqual(
    gone.digests.sort(),
    [index.digest, child.digest, signature.digest].sort(),
    'but not the child that has a tag of its own',
  );
  await work();
  assert.ok(!(await has('acme/copy', digestOf(child.blobs[1]!))));
  assert.equal(await stored(), 6);
  await later(25 * hour);
  await work();
  assert.equal(await stored(), 2);
  assert.ok(await has('acme/copy', layer));

  await app.db.write((tx) => removeRepository(tx, app.caches, 'reg_acme', 'copy'));
  await work();
  assert.equal(await stored(), 0);
  assert.deepEqual(
    await app.db.read((tx) => rows(tx, Type.Object({ used_bytes: Type.Integer() }))`select used_bytes from registry.registry`),
    [{ used_bytes: 0 }],
  );

  // The remains of a crash: an object without a row, and wrong figures. An empty repository is deleted as well.
  const kept = await pushBlob(send, 'acme/app', someBytes(50));
  await app.db.write((tx) => run(tx)`update registry.registry set used_bytes = 12345, reserved_bytes = 77`);
  await send('POST', '/v2/acme/ghost/blobs/uploads/');
  await app.storage.put(orphan, someBytes(5));
  assert.equal(await stored(), 2);
  await later(25 * hour);
  await app.db.write((tx) => run(tx)`delete from registry.upload`);
  await scrub(engine, signal, app.log);
  assert.equal(await stored(), 1);
  assert.ok(await has('acme/app', kept));
  const figures = await app.db.read(
    (tx) =>
      rows(
        tx,
        Type.Object({ used_bytes: Type.Integer(), reserved_bytes: Type.Integer() }),
      )`select used_bytes, reserved_bytes from registry.registry`,
  );
  assert.deepEqual(figures, [{ used_bytes: 50, reserved_bytes: 0 }]);
  assert.deepEqual(
    (await app.db.read((tx) => rows(tx, Type.Object({ name: Type.String() }))`select name from registry.repository`)).map((r) => r.name),
    ['app'],
  );
});
