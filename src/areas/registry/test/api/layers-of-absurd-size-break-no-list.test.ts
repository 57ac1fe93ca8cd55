import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import { basic } from '../credentials.ts';
import { digestOf, imageOf, indexOf, pushImage, putManifest, type Send, sender } from '../registry-server.ts';

const maxSize = Number.MAX_SAFE_INTEGER;

test('foreign layers of absurd size break no list', async (t) => {
  const { owner, url, app } = await quarterdeck(t);
  const at = '/registry/registries/acme';
  await owner.post('/registry/registries', { slug: 'acme' });
  const { keyId, secret } = (await owner.post(`${at}/keys`, { name: 'ci', mode: 'readwrite' })).body;
  const raw = sender(url);
  const send: Send = (method, path, options = {}) =>
    raw(method, path, { ...options, as: null, headers: { authorization: basic(keyId, secret), ...options.headers } });
  const base = imageOf([]);
  await pushImage(send, 'acme/app', 'base', base);
  const foreign = [1, 2].map(() => {
    const layer = {
      mediaType: 'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip',
      digest: `sha256:${randomBytes(32).toString('hex')}`,
      size: maxSize - base.blobs[0]!.length,
      urls: ['https://layers.example/'],
    };
    const body = Buffer.from(JSON.stringify({ ...JSON.parse(base.body.toString()), layers: [layer] }));
    return { ...base, body, digest: digestOf(body) };
  });
  for (const each of foreign) assert.equal((await putManifest(send, 'acme/app', each.digest, each)).status, 201);
  assert.equal((await putManifest(send, 'acme/app', 'all', indexOf(foreign))).status, 201);

  const lists = async () => {
    const [manifests, tags, repositories, whole] = await Promise.all([
      owner.get(`${at}/manifests?repo=app`),
      owner.get(`${at}/tags?repo=app`),
      owner.get(`${at}/repositories`),
      owner.get(at),
    ]);
    assert.deepEqual([manifests.status, tags.status, repositories.status, whole.status], [200, 200, 200, 200]);
    assert.deepEqual(
      manifests.body.manifests.map((m: { sizeBytes: number }) => Number.isSafeInteger(m.sizeBytes)),
      [true, true, true, true],
    );
    assert.ok(repositories.body.repositories[0].sizeBytes < 100_000, 'what is elsewhere is not held here');
    assert.ok(whole.body.usedBytes < 100_000);
  };
  await lists();
  // Old data may have it: more than the driver can read as a number.
  await app.db.write((tx) => run(tx)`update registry.manifest set content_bytes = 9223372036854775807 where content_bytes is not null`);
  await lists();
});
