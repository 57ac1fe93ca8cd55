import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOf, digestOf, type Image, imageOf, indexOf, pushBlob, putManifest, registryServer, someBytes } from '../registry-server.ts';

const name = 'acme/app';
const docker = 'application/vnd.docker.distribution.manifest.v2+json';

test('a manifest is taken as it is, or refused with the reason', async (t) => {
  const { send } = await registryServer(t);
  const layer = someBytes(100);
  const image = imageOf([layer]);
  const [config] = image.blobs as [Buffer];
  const send400 = async (body: unknown, type: string | undefined = image.type, reference = 'bad') => {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
    return send('PUT', `/v2/${name}/manifests/${reference}`, { body: bytes, headers: type ? { 'Content-Type': type } : {} });
  };

  const early = await putManifest(send, name, 'v1', image);
  assert.deepEqual([early.status, codeOf(early)], [404, 'MANIFEST_BLOB_UNKNOWN']);
  for (const blob of image.blobs) await pushBlob(send, name, blob);

  await t.test('every type that clients push', async () => {
    const parsed = JSON.parse(image.body.toString());
    const ofDocker = Buffer.from(JSON.stringify({ ...parsed, mediaType: docker }));
    const spaced = Buffer.from(`  ${JSON.stringify(parsed, null, 3)}\n\n`);
    const untyped = Buffer.from(JSON.stringify({ ...parsed, mediaType: undefined }));
    for (const [body, type] of [
      [ofDocker, docker],
      [spaced, image.type],
      [untyped, image.type],
      [untyped, undefined],
      [spaced, `${image.type}; charset=utf-8`],
    ] as const) {
      const put = await send400(body, type, 'typed');
      assert.equal(put.status, 201, put.body.toString());
      assert.equal(put.headers['docker-content-digest'], digestOf(body));
      const got = await send('GET', `/v2/${name}/manifests/typed`);
      assert.ok(got.body.equals(body), 'byte by byte');
      assert.equal(got.headers['content-type'], type?.split(';')[0] ?? image.type);
    }
    const artifact = { schemaVersion: 2, mediaType: 'application/vnd.oci.artifact.manifest.v1+json', artifactType: 'x/y', blobs: [] };
    assert.equal((await send400(artifact, artifact.mediaType)).status, 201);
    assert.equal((await putManifest(send, name, 'empty', indexOf([]))).status, 201);
    assert.equal(
      (await putManifest(send, name, 'sparse', indexOf([imageOf([someBytes(1)])]))).status,
      201,
      'an index may come before its children',
    );
    let deep: Image = indexOf([image]);
    for (let i = 0; i < 4; i++) {
      deep = indexOf([deep]);
      assert.equal((await putManifest(send, name, `deep${i}`, deep)).status, 201);
    }
  });

  await t.test('layers that live elsewhere need not be here', async () => {
    const foreign = { mediaType: 'application/vnd.oci.image.layer.nondistributable.v1.tar+gzip', digest: digestOf(someBytes(3)), size: 3 };
    const withUrls = {
      mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
      digest: digestOf(someBytes(4)),
      size: 4,
      urls: ['https://example.com/layer'],
    };
    assert.equal((await putManifest(send, name, 'windows', imageOf([layer], { layers: [foreign, withUrls] }))).status, 201);
  });

  await t.test('by digest, under either algorithm', async () => {
    const digest = digestOf(image.body, 'sha512');
    const put = await putManifest(send, name, digest, image);
    assert.deepEqual([put.status, put.headers['docker-content-digest']], [201, digest]);
    assert.ok((await send('GET', `/v2/${name}/manifests/${digest}`)).body.equals(image.body));
    for (const wrong of [digestOf(someBytes(1)), digestOf(someBytes(1), 'sha512'), 'sha256:abc', 'md5:0123']) {
      const refused = await putManifest(send, name, wrong, image);
      assert.deepEqual([refused.status, codeOf(refused)], [400, 'DIGEST_INVALID'], wrong);
    }
  });

  await t.test('what cannot be a reference is a manifest that is not there', async () => {
    for (const wrong of ['sha256:abc', 'md5:0123', '.INVALID_MANIFEST_NAME', `${'a'.repeat(129)}`, '%00']) {
      const got = await send('GET', `/v2/${name}/manifests/${wrong}`);
      assert.deepEqual([got.status, codeOf(got)], [404, 'MANIFEST_UNKNOWN'], wrong);
      assert.equal((await send('HEAD', `/v2/${name}/manifests/${wrong}`)).status, 404, wrong);
      assert.equal((await putManifest(send, name, wrong, image)).status, 400, wrong);
    }
  });

  await t.test('with several tags at once', async () => {
    const put = await send('PUT', `/v2/${name}/manifests/${image.digest}?tag=t1&tag=t2`, {
      body: image.body,
      headers: { 'Content-Type': image.type },
    });
    assert.deepEqual([put.status, put.headers['oci-tag']], [201, 't1, t2']);
    for (const tag of ['t1', 't2'])
      assert.equal((await send('HEAD', `/v2/${name}/manifests/${tag}`)).headers['docker-content-digest'], image.digest);
    assert.equal((await send('PUT', `/v2/${name}/manifests/${image.digest}?tag=-bad`, { body: image.body })).status, 400);
  });

  await t.test('almost 4 MiB are taken, more are not', async () => {
    const annotations = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`a${i}`, 'x'.repeat(10_000)]));
    const large = imageOf([layer], { annotations: annotations(390) });
    assert.equal((await putManifest(send, name, 'large', large)).status, 201);
    assert.ok((await send('GET', `/v2/${name}/manifests/large`)).body.equals(large.body));
    const huge = await putManifest(send, name, 'huge', imageOf([layer], { annotations: annotations(430) }));
    assert.deepEqual([huge.status, codeOf(huge)], [413, 'SIZE_INVALID']);
  });

  await t.test('nonsense', async () => {
    const good = JSON.parse(image.body.toString());
    const descriptor = good.layers[0];
    const wrong: [unknown, string?][] = [
      [Buffer.from('')],
      [Buffer.from('{')],
      [Buffer.from([0xff, 0xfe, 0x7b, 0x7d])],
      [[]],
      ['text'],
      [{ ...good, schemaVersion: 1 }],
      [{ ...good, schemaVersion: '2' }],
      [{ ...good, mediaType: docker }],
      [{ ...good, config: undefined }],
      [{ ...good, config: { ...good.config, digest: 'sha256:../../../etc/passwd' } }],
      [{ ...good, layers: {} }],
      [{ ...good, layers: [{ ...descriptor, size: -1 }] }],
      [{ ...good, layers: [{ ...descriptor, size: 1e300 }] }],
      [{ ...good, layers: [{ ...descriptor, mediaType: undefined }] }],
      [{ ...good, layers: [null] }],
      [{ ...good, subject: 'sha256:x' }],
      [{ ...good, annotations: { a: 1 } }],
      [{ ...good, artifactType: 7 }],
      [{ ...good, manifests: [] }],
      [good, 'application/vnd.docker.distribution.manifest.v1+prettyjws'],
      [good, 'text/html'],
      [{ schemaVersion: 2, manifests: [{ digest: digestOf(config) }] }, 'application/vnd.oci.image.index.v1+json'],
    ];
    for (const [body, type] of wrong) {
      const answer = await send400(body, type);
      assert.deepEqual([answer.status, codeOf(answer)], [400, 'MANIFEST_INVALID'], `${JSON.stringify(body)}: ${answer.body}`);
    }
    assert.equal(
      (await send('HEAD', `/v2/${name}/manifests/bad`)).headers['docker-content-digest'] ?? '',
      digestOf(
        Buffer.from(
          JSON.stringify({ schemaVersion: 2, mediaType: 'application/vnd.oci.artifact.manifest.v1+json', artifactType: 'x/y', blobs: [] }),
        ),
      ),
      'the tag still stands for the last good one',
    );
    // Text that PostgreSQL cannot store is a client error.
    assert.equal((await send400({ ...good, annotations: { odd: '\u0000 \ud800' } }, image.type, 'odd')).status, 201);
    assert.equal((await send('PUT', `/v2/${name}/manifests/${'t'.repeat(129)}`, { body: image.body })).status, 400);
    assert.equal((await send('PUT', `/v2/${name}/manifests/.hidden`, { body: image.body })).status, 400);
  });
});
