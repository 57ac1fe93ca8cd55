import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect } from '../../engine/gc/collect.ts';
import { manifestsPerPurgeBatch, purgeManifest } from '../../engine/purge.ts';
import { withoutDelay } from '../../engine/removal.ts';
import { repositoryByName } from '../../store/repositories.ts';
import {
  digestOf,
  type Image,
  imageOf,
  indexOf,
  pushBlob,
  pushImage,
  putManifest,
  registryServer,
  someBytes,
  type TestRegistry,
} from '../registry-server.ts';

const { signal } = new AbortController();

const purge = ({ app }: TestRegistry, image: Image) =>
  app.db.write(async (tx) => purgeManifest(tx, app.caches, (await repositoryByName(tx, 'reg_acme', 'app'))!, image.digest, withoutDelay));

async function missingOf({ send }: TestRegistry, images: Image[]) {
  let missing = 0;
  for (const { digest } of images) if ((await send('HEAD', `/v2/acme/app/manifests/${digest}`)).status === 404) missing++;
  return missing;
}

/** Like a client: each layer once, then the manifest. */
async function pushAll({ send }: TestRegistry, images: Image[]) {
  const blobs = new Map(images.flatMap((image) => image.blobs.map((blob) => [digestOf(blob), blob])));
  for (const blob of blobs.values()) await pushBlob(send, 'acme/app', blob);
  const put = await Promise.all(images.map((image) => putManifest(send, 'acme/app', image.digest, image)));
  assert.deepEqual(new Set(put.map(({ status }) => status)), new Set([201]));
}

/** A few more than one transaction takes. Two have a layer of their own, the others share one. */
const many = manifestsPerPurgeBatch + 3;
function someImages(count: number): Image[] {
  const shared = someBytes(10);
  return Array.from({ length: count }, (_, n) => imageOf([n < 2 ? someBytes(10) : shared], { annotations: { n: String(n) } }));
}

test('manifests pushed after a purge stay, also while the purge continues', async (t) => {
  const server = await registryServer(t);
  const { send, app, engine } = server;
  const children = someImages(many);
  const index = indexOf(children);
  await pushAll(server, children);
  assert.equal((await putManifest(send, 'acme/app', 'v1', index)).status, 201);
  assert.equal((await purge(server, index)).pendingCount, many - manifestsPerPurgeBatch);

  // Like every client: the children come first, and garbage collection runs before the index arrives.
  await pushAll(server, children);
  await collect(engine, signal, app.log);
  assert.equal((await putManifest(send, 'acme/app', 'v1', index)).status, 201);
  assert.equal(await missingOf(server, children), 0);

  // The next purge comes after those pushes.
  await purge(server, index);
  await collect(engine, signal, app.log);
  assert.equal(await missingOf(server, children), many);
});

test('so do manifests at the second level', async (t) => {
  const server = await registryServer(t);
  const { send, app, engine } = server;
  const leaves = someImages(manifestsPerPurgeBatch / 2 + 3);
  const inner = leaves.map((leaf) => indexOf([leaf]));
  const outer = indexOf(inner);
  await pushAll(server, leaves);
  await pushAll(server, inner);
  assert.equal((await putManifest(send, 'acme/app', 'v1', outer)).status, 201);
  assert.ok((await purge(server, outer)).pendingCount > 0);
  await pushAll(server, leaves);
  await collect(engine, signal, app.log);
  assert.equal(await missingOf(server, leaves), 0);
  assert.equal(await missingOf(server, inner), inner.length);
});

test('a signature that is pushed after the purge of its image keeps its tag', async (t) => {
  const server = await registryServer(t);
  const { send, app, engine } = server;
  const children = someImages(many);
  const index = indexOf(children);
  await pushAll(server, children);
  assert.equal((await putManifest(send, 'acme/app', 'v1', index)).status, 201);
  await purge(server, index);
  const left = children.find(({ digest }) => digest === [...children.map((c) => c.digest)].sort()[0])!;
  const signature = imageOf([someBytes(20)]);
  const tag = `${left.digest.replace(':', '-')}.sig`;
  await pushImage(send, 'acme/app', tag, signature);
  await collect(engine, signal, app.log);
  assert.equal(await missingOf(server, [left]), 1);
  assert.equal((await send('HEAD', `/v2/acme/app/manifests/${tag}`)).status, 200);
});
