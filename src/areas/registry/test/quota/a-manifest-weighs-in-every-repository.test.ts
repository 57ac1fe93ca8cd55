import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, rows, run } from '../../../../kernel/db/index.ts';
import { weighManifests } from '../../engine/gc/weigh.ts';
import { correctDrift } from '../../engine/quota.ts';
import { removeRepository } from '../../engine/repository-removal.ts';
import { parseManifest, rowBytes, weightOf } from '../../rules/manifest.ts';
import { codeOf, type Image, imageOf, indexOf, pushImage, putManifest, registryServer, type TestRegistry } from '../registry-server.ts';

const MiB = 1024 * 1024;
const { signal } = new AbortController();

const used = async ({ app }: TestRegistry) =>
  (await app.db.read(
    (tx) => row(tx, Type.Object({ used: Type.Integer() }))`select used_bytes as used from registry.registry where id = 'reg_acme'`,
  ))!.used;
const weight = ({ body, type }: Image) => weightOf(parseManifest(body, type), body.length);
const absent = (n: number) => ({ ...imageOf([]), digest: `sha256:${String(n).padStart(64, '0')}` });

test('a manifest weighs in every repository what its rows take there', async (t) => {
  const server = await registryServer(t);
  const { send, app } = server;
  await app.db.write((tx) => run(tx)`update registry.registry set quota_bytes = ${10 * MiB} where id = 'reg_acme'`);
  const large = indexOf(
    Array.from({ length: 1_000 }, (_, n) => absent(n)),
    { annotations: { much: 'x'.repeat(500_000) } },
  );
  assert.ok(weight(large) > large.body.length + 500_000 + 1_000 * rowBytes.reference);
  let taken = 0;
  for (let n = 0; ; n++) {
    const put = await putManifest(send, `acme/copy-${n}`, 'v1', large);
    if (put.status === 403) {
      assert.equal(codeOf(put), 'DENIED');
      break;
    }
    taken++;
    assert.equal(await used(server), taken * weight(large));
  }
  assert.equal(taken, Math.floor((10 * MiB) / weight(large)));

  await app.db.write((tx) => removeRepository(tx, app.caches, 'reg_acme', 'copy-0'));
  assert.equal(await used(server), (taken - 1) * weight(large), 'a repository takes what it weighed along');
  await Promise.all(Array.from({ length: taken - 1 }, (_, n) => send('DELETE', `/v2/acme/copy-${n + 1}/manifests/${large.digest}`)));
  assert.equal(await used(server), 0);
});

test('old manifests are weighed in batches, and the figures are right at every moment', async (t) => {
  const server = await registryServer(t);
  const { send, app } = server;
  const images = Array.from({ length: 3 }, (_, n) => imageOf([], { annotations: { n: String(n) } }));
  const repositories = ['acme/a', 'acme/b', 'acme/c'];
  for (const image of images) for (const name of repositories) await pushImage(send, name, image.digest, image);
  const now = await used(server);
  const addsUp = async () => assert.equal(await app.db.write((tx) => correctDrift(tx, 'reg_acme')), false);
  await addsUp();

  // The booking of an older release: the size of each manifest once.
  await app.db.write((tx) => run(tx)`update registry.manifest set weight = null`);
  assert.equal(await app.db.write((tx) => correctDrift(tx, 'reg_acme')), true);
  const sizes = images.reduce((sum, image) => sum + image.body.length, 0);
  const weights = images.reduce((sum, image) => sum + weight(image), 0);
  assert.equal(await used(server), now - 3 * weights + sizes);

  // Some manifests are deleted before they are weighed; others are pushed beside them.
  const [first, second] = images as [Image, Image];
  for (const name of repositories) {
    assert.equal((await send('DELETE', `/v2/${name}/manifests/${first.digest}`)).status, 202);
    await addsUp();
  }
  assert.equal(await used(server), now - 3 * weights + sizes - first.body.length);
  await pushImage(send, 'acme/d', 'v1', second);
  await addsUp();
  await app.db.write((tx) => removeRepository(tx, app.caches, 'reg_acme', 'a'));
  await addsUp();

  assert.equal(await weighManifests(app, signal, app.log), 4);
  await addsUp();
  const left = await app.db.read((tx) => rows(tx, Type.Object({ weight: Type.Integer() }))`select weight from registry.manifest`);
  assert.equal(left.length, 5);
  assert.equal(await weighManifests(app, signal, app.log), 0);
});
