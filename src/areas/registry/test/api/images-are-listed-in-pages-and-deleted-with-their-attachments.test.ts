import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { attachmentsOf } from '../../rules/attachments.ts';
import { parseManifest, weightOf } from '../../rules/manifest.ts';
import { basic } from '../credentials.ts';

const sha256 = (bytes: string | Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const types = { image: 'application/vnd.oci.image.manifest.v1+json', index: 'application/vnd.oci.image.index.v1+json' };

test('images are listed in pages and deleted with their attachments', async (t) => {
  const { owner, url } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const { keyId, secret } = (await owner.post('/registry/registries/acme/keys', { name: 'ci', mode: 'readwrite' })).body;
  const headers = { authorization: basic(keyId, secret) };
  const blob = async (repo: string, text: string) => {
    const answer = await fetch(`${url}/v2/acme/${repo}/blobs/uploads/?digest=${sha256(text)}`, { method: 'POST', headers, body: text });
    assert.equal(answer.status, 201);
    return { mediaType: 'application/octet-stream', digest: sha256(text), size: text.length };
  };
  /** The weight of manifest rows besides their bytes. */
  let rows = 0;
  const put = async (repo: string, reference: string | undefined, manifest: object) => {
    const body = JSON.stringify(manifest);
    const type = 'manifests' in manifest ? types.index : types.image;
    const answer = await fetch(`${url}/v2/acme/${repo}/manifests/${reference ?? sha256(body)}`, {
      method: 'PUT',
      headers: { ...headers, 'content-type': type },
      body,
    });
    assert.equal(answer.status, 201, await answer.text());
    rows += weightOf(parseManifest(Buffer.from(body), type), body.length) - body.length;
    return { mediaType: type, digest: sha256(body), size: body.length };
  };
  const image = async (repo: string, reference: string | undefined, layers: string[], more: object = {}) =>
    put(repo, reference, {
      schemaVersion: 2,
      mediaType: types.image,
      config: await blob(repo, '{}'),
      layers: await Promise.all(layers.map((l) => blob(repo, l))),
      ...more,
    });
  const list = async (what: string, query = '') => (await owner.get(`/registry/registries/acme/${what}?repo=team/app${query}`)).body;

  const shared = 'x'.repeat(1000);
  const amd = await image('team/app', undefined, [shared, 'amd']);
  const arm = await image('team/app', undefined, [shared, 'arm64']);
  const index = await put('team/app', 'v1', { schemaVersion: 2, mediaType: types.index, manifests: [amd, arm] });
  const subject = { mediaType: index.mediaType, digest: index.digest, size: index.size };
  const signature = await image('team/app', undefined, ['sig'], { subject, artifactType: 'application/vnd.dev.sigstore.bundle.v0.3+json' });
  // An attestation by cosign: a bundle that names its predicate type.
  const annotations = { 'dev.sigstore.bundle.predicateType': 'https://cyclonedx.org/bom' };
  const attested = { subject, artifactType: 'application/vnd.dev.sigstore.bundle.v0.3+json', annotations };
  const sbom = await image('team/app', undefined, ['sbom'], attested);
  await image('libs/base', 'v1', ['base']);

  assert.deepEqual(attachmentsOf(['application/spdx+json', 'https://sigstore.dev/cosign/sign/v1', 'x/y'], ['sha256-ab.sig']), {
    signatures: 2,
    sboms: 1,
  });

  await t.test('listed', async () => {
    const { tags } = await list('tags');
    assert.deepEqual(
      tags.map((x: { name: string; digest: string; manifestSize: number }) => [x.name, x.digest, x.manifestSize]),
      [['v1', index.digest, index.size]],
    );
    const { manifests } = await list('manifests');
    assert.deepEqual(
      manifests.map((m: { digest: string }) => m.digest),
      [sbom, signature, index, arm, amd].map((m) => m.digest),
      'newest first',
    );
    const shown = manifests.find((m: { digest: string }) => m.digest === index.digest);
    assert.deepEqual([shown.tags, shown.mediaType, shown.signatures, shown.sboms], [['v1'], types.index, 1, 1]);
    assert.equal(shown.sizeBytes, index.size + amd.size + arm.size + 2 + 1000 + 3 + 5, 'what two images share counts once');
    assert.equal(manifests.at(-1).sizeBytes, amd.size + 2 + 1000 + 3);
    const repositories = (await owner.get('/registry/registries/acme/repositories')).body.repositories;
    assert.deepEqual(
      repositories.map((r: { name: string; tagCount: number }) => [r.name, r.tagCount]),
      [
        ['libs/base', 1],
        ['team/app', 1],
      ],
    );
    const all = [index, amd, arm, signature, sbom].reduce((sum, m) => sum + m.size, 0);
    assert.equal(repositories[1].sizeBytes, all + 2 + 1000 + 3 + 5 + 3 + 4);
    const detail = (await owner.get('/registry/registries/acme')).body;
    assert.equal(detail.repositoryCount, 2);
    assert.equal(
      detail.usedBytes,
      repositories[0].sizeBytes + repositories[1].sizeBytes - 2 + rows,
      'the configuration is in both and counts once',
    );
  });

  await t.test('listed, whatever annotations hold', async () => {
    const predicate = 'dev.sigstore.bundle.predicateType';
    const odd = await image('team/odd', 'v1', ['odd']);
    for (const annotations of [
      { text: '\u0000' },
      { '\u0000': 'x' },
      { text: '\ud800' },
      { [predicate]: 'spdx\u0000' },
      { [predicate]: 'x'.repeat(5000) },
    ])
      await image('team/odd', undefined, ['odd'], {
        subject: odd,
        annotations: { [predicate]: 'https://spdx.dev/Document', ...annotations },
      });
    const { status, body } = await owner.get('/registry/registries/acme/manifests?repo=team/odd');
    assert.equal(status, 200);
    const shown = body.manifests.find((m: { digest: string }) => m.digest === odd.digest);
    assert.deepEqual([shown.signatures, shown.sboms], [0, 3]);
    assert.equal((await owner.delete('/registry/registries/acme/repositories?repo=team/odd')).status, 204);
  });

  await t.test('in pages', async () => {
    for (const what of ['manifests', 'tags']) {
      const whole = (await list(what))[what];
      const slices: unknown[] = [];
      let cursor = '';
      do {
        const slice = await list(what, `&limit=2${cursor && `&cursor=${cursor}`}`);
        slices.push(...slice[what]);
        cursor = slice.cursor ?? '';
      } while (cursor);
      assert.deepEqual(slices, whole);
    }
    assert.equal((await owner.get('/registry/registries/acme/manifests?repo=team/app&cursor=bm9uc2Vuc2U')).status, 400);
    assert.equal((await owner.get('/registry/registries/acme/tags?repo=team/app&limit=1001')).status, 400);
    const slice = (await owner.get('/registry/registries/acme/repositories?limit=1')).body;
    assert.deepEqual([slice.repositories.length, typeof slice.cursor], [1, 'string']);
  });

  await t.test('refused', async () => {
    const at = '/registry/registries/acme';
    for (const path of [`${at}/tags`, `${at}/tags?repo=Team`, `${at}/manifests?repo=../x`, `${at}/tags?repo=`])
      assert.equal((await owner.get(path)).status, 400, path);
    assert.equal((await owner.get(`${at}/tags?repo=nothing/here`)).status, 404);
    assert.equal((await owner.delete(`${at}/tags?repo=team/app&tag=v9`)).status, 404);
    assert.equal((await owner.delete(`${at}/tags?repo=team/app&tag=v1&purge=yes`)).status, 400);
    assert.equal((await owner.delete(`${at}/manifests?repo=team/app&digest=sha256:x`)).status, 400);
    assert.equal((await owner.delete(`${at}/manifests?repo=team/app&digest=${sha256('nothing')}`)).status, 404);
    const listed = await owner.delete(`${at}/manifests?repo=team/app&digest=${amd.digest}`);
    assert.equal(listed.status, 409);
    assert.ok(listed.body.error.includes(index.digest), 'naming the index that lists it');
  });

  await t.test('deleted', async () => {
    const at = '/registry/registries/acme';
    await put('team/app', 'v2', { schemaVersion: 2, mediaType: types.index, manifests: [amd, arm] });
    const purge = async (tag: string) => (await owner.delete(`${at}/tags?repo=team/app&tag=${tag}&purge=true`)).body;
    assert.deepEqual(await purge('v1'), { purged: false }, 'another tag keeps it');
    assert.deepEqual(await purge('v2'), { purged: true });
    assert.deepEqual((await list('manifests')).manifests, [], 'with its images, signatures and SBOMs');

    const plain = await image('team/app', 'v3', ['three']);
    assert.deepEqual((await owner.delete(`${at}/tags?repo=team/app&tag=v3`)).body, { purged: false });
    assert.deepEqual(
      (await list('manifests')).manifests.map((m: { digest: string; tags: string[] }) => [m.digest, m.tags]),
      [[plain.digest, []]],
      'untagged, and still there',
    );
    assert.equal((await owner.delete(`${at}/manifests?repo=team/app&digest=${plain.digest}`)).status, 204);
    assert.equal((await fetch(`${url}/v2/acme/team/app/manifests/${plain.digest}`, { headers })).status, 404);

    assert.equal((await owner.delete(`${at}/repositories?repo=libs/base`)).status, 204);
    assert.equal((await owner.delete(`${at}/repositories?repo=libs/base`)).status, 404);
    assert.equal((await fetch(`${url}/v2/acme/libs/base/manifests/v1`, { headers })).status, 404);
  });
});
