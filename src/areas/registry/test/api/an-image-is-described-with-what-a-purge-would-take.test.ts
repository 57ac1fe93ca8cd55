import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { basic } from '../credentials.ts';

const sha256 = (bytes: string) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const types = {
  image: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
};

test('an image is described with platforms, layers, what is attached, and what a purge would take; tags are filtered by their beginning', async (t) => {
  const { owner, url } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const { keyId, secret } = (await owner.post('/registry/registries/acme/keys', { name: 'ci', mode: 'readwrite' })).body;
  const headers = { authorization: basic(keyId, secret) };
  const repo = 'team/app';
  const at = `/registry/registries/acme`;
  const blob = async (text: string, mediaType = types.layer) => {
    const answer = await fetch(`${url}/v2/acme/${repo}/blobs/uploads/?digest=${sha256(text)}`, { method: 'POST', headers, body: text });
    assert.equal(answer.status, 201);
    return { mediaType, digest: sha256(text), size: text.length };
  };
  const put = async (reference: string | undefined, manifest: { mediaType: string }) => {
    const body = JSON.stringify(manifest);
    const answer = await fetch(`${url}/v2/acme/${repo}/manifests/${reference ?? sha256(body)}`, {
      method: 'PUT',
      headers: { ...headers, 'content-type': manifest.mediaType },
      body,
    });
    assert.equal(answer.status, 201, await answer.text());
    return { mediaType: manifest.mediaType, digest: sha256(body), size: body.length };
  };
  const image = async (reference: string | undefined, config: object, layers: string[], more: object = {}) =>
    put(reference, {
      schemaVersion: 2,
      mediaType: types.image,
      config: await blob(JSON.stringify(config), types.config),
      layers: await Promise.all(layers.map((layer) => blob(layer))),
      ...more,
    } as never);
  const describe = async (reference: string) => {
    const { status, body } = await owner.get(`${at}/image?repo=${repo}&reference=${reference}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };

  const shared = 's'.repeat(5_000);
  const amd = await image(undefined, { os: 'linux', architecture: 'amd64' }, [shared, 'amd']);
  const arm = await image(undefined, { os: 'linux', architecture: 'arm64' }, [shared, 'arm64!']);
  const attested = await put(undefined, {
    schemaVersion: 2,
    mediaType: types.image,
    config: await blob('{}', types.config),
    layers: [{ ...(await blob('{"spdx":1}')), annotations: { 'in-toto.io/predicate-type': 'https://spdx.dev/Document' } }],
  } as never);
  const index = await put('v1.0', {
    schemaVersion: 2,
    mediaType: types.index,
    manifests: [
      { ...arm, platform: { os: 'linux', architecture: 'arm64', variant: 'v8' } },
      { ...amd, platform: { os: 'linux', architecture: 'amd64' } },
      {
        ...attested,
        platform: { os: 'unknown', architecture: 'unknown' },
        annotations: { 'vnd.docker.reference.type': 'attestation-manifest' },
      },
    ],
  } as never);
  const signature = await image(undefined, { s: 1 }, ['sig'], {
    subject: index,
    artifactType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
  });
  await image(`${index.digest.replace(':', '-')}.att`, { s: 2 }, ['att']);
  const plain = await image('v2.0', { os: 'linux', architecture: 'riscv64', variant: '<b>' }, [shared, 'risc']);

  await t.test('an index', async () => {
    const found = await describe('v1.0');
    assert.deepEqual([found.digest, found.tags], [index.digest, ['v1.0']]);
    assert.deepEqual(
      found.platforms.map((p: { platform: string; digest: string; isHere: boolean; layers: unknown[] }) => [
        p.platform,
        p.digest,
        p.isHere,
        p.layers.length,
      ]),
      [
        ['linux/arm64/v8', arm.digest, true, 2],
        ['linux/amd64', amd.digest, true, 2],
      ],
      'in the order of the index, and what is attested is no platform',
    );
    assert.deepEqual(found.platforms[1].layers[0], { digest: sha256(shared), mediaType: types.layer, sizeBytes: shared.length });
    assert.deepEqual(
      found.attachments.map((a: { kind: string; digest: string }) => a.kind),
      ['signature', 'attestation', 'sbom'],
    );
    assert.equal(found.attachments[0].digest, signature.digest);
    assert.match(found.attachments[1].tag, /\.att$/);
    assert.deepEqual([found.purge.manifests, found.purge.isCut, found.purge.listedBy], [6, false, undefined]);
    assert.deepEqual(await describe(index.digest), found, 'by its digest too');
  });

  await t.test('what a purge frees is what a purge frees', async () => {
    const before = (await owner.get(`${at}/repositories`)).body.repositories[0];
    const { purge } = await describe('v1.0');
    assert.ok(purge.freedBytes < before.sizeBytes - shared.length, 'a layer that v2.0 needs stays');
    assert.deepEqual((await owner.delete(`${at}/tags?repo=${repo}&tag=v1.0&purge=true`)).body, { purged: true });
    const { manifests } = (await owner.get(`${at}/manifests?repo=${repo}`)).body;
    assert.deepEqual(
      manifests.map((m: { digest: string }) => m.digest),
      [plain.digest],
    );
  });

  await t.test('one image, and what is in the way', async () => {
    const found = await describe('v2.0');
    assert.deepEqual(
      found.platforms.map((p: { platform: string; layers: { sizeBytes: number }[] }) => [p.platform, p.layers.map((l) => l.sizeBytes)]),
      [['linux/riscv64', [5_000, 4]]],
      'a variant that is no word is left out',
    );
    await put('v3', { schemaVersion: 2, mediaType: types.index, manifests: [plain] } as never);
    await owner.patch(at, { immutableTags: ['v2*'] });
    const kept = await describe('v2.0');
    assert.equal(kept.purge.immutableTag, 'v2.0');
    assert.match(kept.purge.listedBy, /^sha256:/);
    assert.equal((await describe('v3')).purge.manifests, 1, 'the image below has a tag of its own, and stays');
  });

  await t.test('refused', async () => {
    for (const reference of ['nothing', sha256('nothing')])
      assert.equal((await owner.get(`${at}/image?repo=${repo}&reference=${reference}`)).status, 404, reference);
    for (const reference of ['', 'sha256:x', '..%2Fx'])
      assert.equal((await owner.get(`${at}/image?repo=${repo}&reference=${reference}`)).status, 400, reference);
  });

  await t.test('by the beginning of a name', async () => {
    for (const tag of ['v2.1', 'v2.10', 'V2.1', 'v20']) await put(tag, JSON.parse(await manifestText(url, headers, repo, plain.digest)));
    const names = async (query: string) => {
      const { status, body } = await owner.get(`${at}/tags?repo=${repo}&${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      return { names: body.tags.map((tag: { name: string }) => tag.name), cursor: body.cursor };
    };
    assert.deepEqual((await names('prefix=v2.')).names, ['v2.0', 'v2.1', 'v2.10']);
    const first = await names('prefix=v2&limit=2');
    assert.deepEqual([...first.names, ...(await names(`prefix=v2&cursor=${first.cursor}`)).names], ['v2.0', 'v2.1', 'v2.10', 'v20']);
    assert.equal((await owner.get(`${at}/tags?repo=${repo}&prefix=%25`)).status, 400);
    const { tags } = (await owner.get(`${at}/tags?repo=${repo}&prefix=v2.0`)).body;
    assert.equal(tags[0].sizeBytes, (await describe('v2.0')).sizeBytes);
    const repositories = async (prefix: string) => (await owner.get(`${at}/repositories?prefix=${prefix}`)).body.repositories.length;
    assert.deepEqual([await repositories('team/'), await repositories('teams')], [1, 0]);
  });
});

const manifestText = async (url: string, headers: Record<string, string>, repo: string, digest: string) =>
  (await fetch(`${url}/v2/acme/${repo}/manifests/${digest}`, { headers })).text();
