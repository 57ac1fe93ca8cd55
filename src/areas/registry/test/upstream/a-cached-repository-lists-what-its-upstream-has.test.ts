import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { ociImage, ociIndex } from '../../../../../test/fakes/upstream-registry.ts';
import { cached } from '../cached.ts';

const list = async (answer: Response) => ((await answer.json()) as { tags: string[] }).tags;
const digests = async (answer: Response) => ((await answer.json()) as { manifests: { digest: string }[] }).manifests.map((m) => m.digest);

test('a cached repository lists what its upstream has', async (t) => {
  const { upstream, pull, clock } = await cached(t);
  const image = upstream.image('team/app', 'v1', [randomBytes(100)]);
  for (const tag of ['v2', 'v3', 'v4', 'v5']) upstream.image('team/app', tag, [randomBytes(10)]);
  const subject = { mediaType: ociImage, digest: image.digest, size: image.manifest.length };
  const signature = upstream.image('team/app', 'signature', [randomBytes(10)], { artifactType: 'application/vnd.test.signature', subject });
  const sbom = upstream.image('team/app', 'sbom', [randomBytes(10)], { artifactType: 'application/vnd.test.sbom', subject });

  await t.test('its tags, in the pages of the upstream', async () => {
    assert.deepEqual(await list(await pull('up.test/team/app/tags/list')), ['sbom', 'signature', 'v1', 'v2', 'v3', 'v4', 'v5']);
    const first = await pull('up.test/team/app/tags/list?n=4');
    assert.deepEqual(await list(first), ['sbom', 'signature', 'v1', 'v2']);
    const link = /^<([^>]+)>; rel="next"$/.exec(first.headers.get('link')!)![1]!;
    assert.equal(link, '/v2/acme/up.test/team/app/tags/list?n=4&last=v2&theirs=1');
    const second = await pull(link.slice('/v2/acme/'.length));
    assert.deepEqual(await list(second), ['v3', 'v4', 'v5']);
    assert.equal(second.headers.get('link'), null);
    const asked = upstream.seen.length;
    await pull('up.test/team/app/tags/list?n=4');
    assert.equal(upstream.seen.length, asked, 'and is not asked again at once');
    assert.equal((await pull('up.test/nobody/nothing/tags/list')).status, 404);
  });

  await t.test('what refers to an image, also by type', async () => {
    const all = await pull(`up.test/team/app/referrers/${image.digest}`);
    assert.equal(all.headers.get('content-type'), ociIndex);
    assert.deepEqual((await digests(all)).sort(), [signature.digest, sbom.digest].sort());
    const some = await pull(`up.test/team/app/referrers/${image.digest}?artifactType=application/vnd.test.sbom`);
    assert.equal(some.headers.get('oci-filters-applied'), 'artifactType');
    assert.deepEqual(await digests(some), [sbom.digest]);
    assert.equal((await pull(`up.test/team/app/manifests/${sbom.digest}`)).status, 200, 'and it can be pulled');
  });

  await t.test('also from an upstream that keeps referrers under a tag', async () => {
    upstream.forgetReferrers();
    const entry = {
      mediaType: ociImage,
      digest: signature.digest,
      size: signature.manifest.length,
      artifactType: 'application/vnd.test.signature',
    };
    const index = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: ociIndex, manifests: [entry] }));
    upstream.manifest('team/app', image.digest.replace(':', '-'), index);
    await clock.advance('61s');
    assert.deepEqual(await digests(await pull(`up.test/team/app/referrers/${image.digest}`)), [signature.digest]);
    assert.deepEqual(await digests(await pull(`up.test/team/app/referrers/${signature.digest}`)), [], 'nothing refers to that one');
  });

  await t.test('and the local content, with a Warning, while the upstream is unavailable', async () => {
    await pull('up.test/team/app/manifests/v1');
    await clock.advance('61s');
    upstream.fail('/v2/', { status: 503 }, 1_000);
    const tags = await pull('up.test/team/app/tags/list');
    assert.match(tags.headers.get('warning')!, /^299 - ".*fails with 503; only what is cached here is listed"$/);
    assert.deepEqual(await list(tags), [image.digest.replace(':', '-'), 'v1']);
    const referrers = await pull(`up.test/team/app/referrers/${image.digest}`);
    assert.match(referrers.headers.get('warning')!, /only what is cached/);
    assert.deepEqual(await digests(referrers), [sbom.digest], 'the one that a client pulled');
  });
});
