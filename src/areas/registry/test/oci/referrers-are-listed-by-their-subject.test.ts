import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { digestOf, imageOf, indexOf, pushBlob, pushImage, putManifest, registryServer, someBytes } from '../registry-server.ts';

const empty = Buffer.from('{}');
type Listed = {
  mediaType: string;
  manifests: { digest: string; artifactType?: string; annotations?: Record<string, string>; size: number }[];
};

test('referrers are listed by their subject, whether that exists or not', async (t) => {
  const { send, app } = await registryServer(t);
  const name = 'acme/app';
  const list = async (digest: string, query = '', repository = name) => {
    const answer = await send('GET', `/v2/${repository}/referrers/${digest}${query}`);
    assert.equal(answer.status, 200, answer.body.toString());
    assert.equal(answer.headers['content-type'], 'application/vnd.oci.image.index.v1+json');
    return { ...(answer.json() as Listed), applied: answer.headers['oci-filters-applied'], link: answer.headers.link };
  };
  const image = imageOf([someBytes(10)]);
  assert.deepEqual((await list(image.digest, '', 'acme/never-pushed')).manifests, []);
  await pushBlob(send, name, empty);
  const subject = { mediaType: image.type, digest: image.digest, size: image.body.length };
  const config = (mediaType: string) => ({ mediaType, digest: digestOf(empty), size: 2 });
  const signature = imageOf([], {
    subject,
    artifactType: 'application/x.signature',
    annotations: { by: 'alice' },
    config: config('application/vnd.oci.empty.v1+json'),
  });
  const sbom = imageOf([], { subject, config: config('application/x.sbom') });
  const index = indexOf([], { subject });
  for (const referrer of [signature, sbom, index]) {
    const put = await putManifest(send, name, referrer.digest, referrer);
    assert.equal(put.status, 201, put.body.toString());
    assert.equal(put.headers['oci-subject'], image.digest);
  }

  const all = await list(image.digest);
  assert.deepEqual(
    all.manifests.map(({ digest, artifactType, annotations }) => ({ digest, artifactType, annotations })),
    [
      { digest: signature.digest, artifactType: 'application/x.signature', annotations: { by: 'alice' } },
      { digest: sbom.digest, artifactType: 'application/x.sbom', annotations: undefined },
      { digest: index.digest, artifactType: undefined, annotations: undefined },
    ],
  );
  assert.equal(all.applied, undefined);
  const some = await list(image.digest, '?artifactType=application/x.sbom');
  assert.deepEqual([some.manifests.map((m) => m.digest), some.applied], [[sbom.digest], 'artifactType']);

  await pushImage(send, name, 'v1', image);
  assert.equal((await list(image.digest)).manifests.length, 3, 'and the same once the subject is there');
  await send('DELETE', `/v2/${name}/manifests/${signature.digest}`);
  assert.deepEqual(
    (await list(image.digest)).manifests.map((m) => m.digest),
    [sbom.digest, index.digest],
  );
  assert.equal((await send('GET', `/v2/${name}/referrers/nonsense`)).status, 400);

  await app.db.write(
    (tx) => run(tx)`
      insert into registry.manifest (org_id, repository_id, digest, media_type, subject, body, size, created_at)
      select org_id, repository_id, 'sha256:' || lpad(i::text, 64, '0'), media_type, subject, body, size, created_at
        from registry.manifest, generate_series(1, 520) i where digest = ${sbom.digest}`,
  );
  const first = await list(image.digest);
  const rest = await send('GET', /^<([^>]+)>; rel="next"$/.exec(String(first.link))![1]!);
  const digests = [...first.manifests, ...(rest.json() as Listed).manifests].map((m) => m.digest);
  assert.equal(new Set(digests).size, 522);
});

test('referrers with large annotations come in several pages', async (t) => {
  const { send } = await registryServer(t);
  const MiB = 1024 * 1024;
  await pushBlob(send, 'acme/app', empty);
  const subject = { mediaType: 'application/vnd.oci.image.manifest.v1+json', digest: digestOf(someBytes(1)), size: 1 };
  const config = { mediaType: 'application/x.sbom', digest: digestOf(empty), size: 2 };
  const pushed: string[] = [];
  for (const bytes of [1, 1.5 * MiB, 1.5 * MiB, 1.5 * MiB, 3.9 * MiB, 3.9 * MiB, 1]) {
    const referrer = imageOf([], { subject, config, annotations: { i: String(pushed.length), text: 'x'.repeat(bytes) } });
    assert.equal((await putManifest(send, 'acme/app', referrer.digest, referrer)).status, 201);
    pushed.push(referrer.digest);
  }
  const slices: string[][] = [];
  for (let path: string | undefined = `/v2/acme/app/referrers/${subject.digest}?artifactType=application/x.sbom`; path; ) {
    const slice = await send('GET', path);
    assert.ok(slice.body.length < 4.1 * MiB);
    slices.push((slice.json() as Listed).manifests.map((m) => m.digest));
    path = /^<([^>]+)>; rel="next"$/.exec(String(slice.headers.link))?.[1];
  }
  assert.deepEqual(slices.flat(), pushed);
  assert.deepEqual(
    slices.map((p) => p.length),
    [3, 1, 1, 2],
  );
});
