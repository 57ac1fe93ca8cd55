import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ociIndex, upstreamRegistry } from '../../../../../test/fakes/upstream-registry.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { run, type Tx } from '../../../../kernel/db/index.ts';
import { collect } from '../../engine/gc/collect.ts';
import { evict } from '../../engine/gc/evict.ts';
import { retain } from '../../engine/gc/retain.ts';
import { makeRegistryMetrics } from '../../engine/metrics.ts';
import { makePullThrough, makeUpstreams } from '../../engine/pull-through/index.ts';
import { evictableBytes } from '../../store/eviction.ts';
import { overtaken } from '../lock-race.ts';
import { digestOf, imageOf, pushBlob, pushImage, putManifest, registryServer, someBytes, type TestRegistry } from '../registry-server.ts';

const { signal } = new AbortController();

/** A store, and servers on it with or without the upstream in their catalog. */
async function store(t: TestContext) {
  const { connection, drop } = await freshDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'qdr-'));
  const upstream = await upstreamRegistry(t);
  t.after(async () => {
    await drop();
    await rm(dataDir, { recursive: true, force: true });
  });
  const server = (catalog: 'with' | 'without') =>
    registryServer(t, {
      connection,
      dataDir,
      cache: (engine) => makePullThrough(makeUpstreams(engine, makeRegistryMetrics())),
      env: {
        QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'upstream=127.0.0.0/8',
        QUARTERDECK_REGISTRY_UPSTREAMS: catalog === 'with' ? `up.test=${upstream.url}` : `other.test=${upstream.url}`,
      },
    });
  return { upstream, server };
}

/** Pulls an image through the cache until it is kept completely. Returns its configuration. */
const pullWhole = async ({ send, app }: TestRegistry, name: string, image: { layers: string[]; config: string }): Promise<Buffer> => {
  assert.equal((await send('GET', `/v2/acme/up.test/${name}/manifests/v1`)).status, 200);
  const got = [];
  for (const blob of [image.config, ...image.layers]) got.push((await send('GET', `/v2/acme/up.test/${name}/blobs/${blob}`)).body);
  const links = (tx: Tx) =>
    run(
      tx,
    )`select from registry.repository_blob l join registry.repository r on r.id = l.repository_id where r.name = ${`up.test/${name}`}`;
  await eventually(async () => (await app.db.read(links)) === got.length);
  return got[0]!;
};

/** Removes everything that can be removed. */
const evictAll = async ({ app, engine }: TestRegistry) => {
  await app.db.write((tx) => run(tx)`update registry.registry set quota_bytes = used_bytes + reserved_bytes`);
  await evict(app, 'reg_acme', await app.db.read((tx) => evictableBytes(tx, 'reg_acme', 0)));
  await collect(engine, signal, app.log);
  await app.db.write((tx) => run(tx)`update registry.registry set quota_bytes = 1000000000`);
};

test('pushed images in a former cache are not evicted', async (t) => {
  const { upstream, server } = await store(t);
  const shared = someBytes(3_000);
  const [plain, again, child] = [
    upstream.image('team/app', 'v1', [someBytes(2_000), shared]),
    upstream.image('team/again', 'v1', [someBytes(2_000)]),
    upstream.image('team/multi', 'v1', [someBytes(2_000)]),
  ];
  const caching = await server('with');
  await pullWhole(caching, 'team/app', plain);
  const config = await pullWhole(caching, 'team/again', again);
  await pullWhole(caching, 'team/multi', child);
  await caching.stop();

  const plainly = await server('without');
  const { send } = plainly;
  const at = (name: string) => `acme/up.test/team/${name}`;
  const status = async (name: string, what: string) => (await send('HEAD', `/v2/${at(name)}/${what}`)).status;
  // A pushed image with a fetched layer that the client was told of; the fetched image itself, pushed; and a pushed index of a fetched
  // image. A layer that a push was told of waits for its image.
  const own = imageOf([shared, someBytes(1_000)]);
  assert.equal(await status('app', `blobs/${digestOf(shared)}`), 200);
  for (const blob of own.blobs.filter((b) => b !== shared)) await pushBlob(send, at('app'), blob);
  assert.equal((await putManifest(send, at('app'), 'mine', own)).status, 201);
  const told = again.layers[0]!;
  assert.equal(await status('again', `blobs/${told}`), 200);
  const put = (name: string, reference: string, body: Buffer, type: string) =>
    send('PUT', `/v2/${at(name)}/manifests/${reference}`, { body, headers: { 'Content-Type': type } });
  const descriptor = { mediaType: own.type, digest: child.digest, size: child.manifest.length };
  const index = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: ociIndex, manifests: [descriptor] }));
  assert.equal((await put('multi', 'all', index, ociIndex)).status, 201);
  const underWay = await pushBlob(send, at('app'), someBytes(500));

  await evictAll(plainly);
  assert.equal(await status('app', `blobs/${underWay}`), 200, 'a layer whose image has yet to come');
  assert.equal(await status('app', 'manifests/v1'), 404, 'what was only fetched made room');
  assert.equal(await status('again', 'manifests/v1'), 404);
  assert.equal((await send('GET', `/v2/${at('app')}/manifests/mine`)).status, 200);
  for (const blob of own.blobs) assert.equal(await status('app', `blobs/${digestOf(blob)}`), 200);
  for (const kept of ['all', child.digest]) assert.equal(await status('multi', `manifests/${kept}`), 200, 'an index and what it lists');
  for (const blob of child.layers) assert.equal(await status('multi', `blobs/${blob}`), 200);

  // The push that was told of a fetched layer succeeds, and its image stays.
  await pushBlob(send, at('again'), config);
  assert.equal((await put('again', 'v1', again.manifest, own.type)).status, 201);
  await evictAll(plainly);
  assert.equal(await status('again', 'manifests/v1'), 200);
  assert.equal(await status('again', `blobs/${told}`), 200);
  await plainly.stop();

  // The upstream is back: a pushed tag keeps standing for the pushed image.
  upstream.image('team/again', 'v1', [someBytes(100)]);
  const back = await server('with');
  const answered = await back.send('HEAD', `/v2/${at('again')}/manifests/v1`);
  assert.equal(answered.headers['docker-content-digest'], again.digest);
  assert.equal((await back.send('HEAD', `/v2/${at('app')}/manifests/mine`)).headers['docker-content-digest'], own.digest);
  await evictAll(back);
  assert.equal((await back.send('HEAD', `/v2/${at('app')}/manifests/mine`)).status, 200, 'which the upstream has never had');
});

test('images pushed before the repository became a cache are not evicted, and rules apply', async (t) => {
  const { upstream, server } = await store(t);
  upstream.image('team/app', 'v1', [someBytes(100)]);
  const plainly = await server('without');
  const images = [imageOf([someBytes(100)]), imageOf([someBytes(100)])];
  for (const [i, image] of images.entries()) await pushImage(plainly.send, 'acme/up.test/team/app', `v${i}`, image);
  await plainly.stop();

  const caching = await server('with');
  const digestAt = async (tag: string) =>
    (await caching.send('HEAD', `/v2/acme/up.test/team/app/manifests/${tag}`)).headers['docker-content-digest'];
  await evictAll(caching);
  assert.deepEqual([await digestAt('v0'), await digestAt('v1')], [images[0]!.digest, images[1]!.digest]);
  for (const blob of images[0]!.blobs)
    assert.equal((await caching.send('HEAD', `/v2/acme/up.test/team/app/blobs/${digestOf(blob)}`)).status, 200);
  await caching.app.db.write((tx) => run(tx)`update registry.registry set retention = '{"rules":[{"keepLast":1}]}'`);
  await retain(caching.engine, signal, caching.app.log);
  assert.deepEqual([await digestAt('v0'), await digestAt('v1')], [undefined, images[1]!.digest]);
});

test('an image pushed during an eviction stays', async (t) => {
  const { upstream, server } = await store(t);
  const image = upstream.image('team/app', 'v1', [someBytes(1_000)]);
  const caching = await server('with');
  await pullWhole(caching, 'team/app', image);
  // A push has taken the image over and not committed yet: eviction waits for it and sees the result.
  const push = (tx: Tx) => run(tx)`update registry.manifest set cached = false where digest = ${image.digest}`;
  await overtaken(caching.app, push, () => evictAll(caching));
  await caching.stop();
  const plainly = await server('without');
  assert.equal((await plainly.send('HEAD', '/v2/acme/up.test/team/app/manifests/v1')).status, 200);
  for (const blob of image.layers) assert.equal((await plainly.send('HEAD', `/v2/acme/up.test/team/app/blobs/${blob}`)).status, 200);
});
