import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { retain } from '../../engine/gc/retain.ts';
import { attachedBy, nameInTags } from '../../rules/attachments.ts';
import { mediaTypes } from '../../rules/manifest.ts';
import { type ManifestState, planRetention, type Retention } from '../../rules/retention.ts';
import { imageOf, indexOf, registryServer } from '../registry-server.ts';
import { takeSteps } from '../run-steps.ts';
import { judgeOnServer, note, pushBlobs, put, rulesOf, shape } from './any-repository.ts';

const { signal } = new AbortController();

test('signatures of both kinds take no place among the images that are kept', async (t) => {
  const { send, app, engine } = await registryServer(t);
  await pushBlobs(send, 'acme/app');
  const images = [0, 1, 2, 3, 4].map((i) => imageOf([], { annotations: { i: String(i) } }));
  for (const [i, image] of images.entries()) {
    await put(send, 'acme/app', `v${i}`, image);
    for (const kind of ['.sig', '.att', '.sbom']) await put(send, 'acme/app', nameInTags(image.digest) + kind, note(image, kind));
    const referrer = note(image, 'subject', image);
    await put(send, 'acme/app', referrer.digest, referrer);
    await put(send, 'acme/app', nameInTags(image.digest), indexOf([referrer]));
    await app.db.write((tx) => moveClock(tx, 86_400));
  }
  const rules = (retention: Retention) =>
    app.db.write((tx) => run(tx)`update registry.registry set retention = ${JSON.stringify(retention)}::jsonb`);
  await rules({ untaggedDays: 1, rules: [{ keepLast: 3 }] });
  await retain(engine, signal, app.log);
  const { tags } = (await send('GET', '/v2/acme/app/tags/list')).json() as { tags: string[] };
  const kept = images.slice(2);
  assert.deepEqual(
    tags,
    ['v2', 'v3', 'v4', ...kept.flatMap(({ digest }) => ['', '.att', '.sbom', '.sig'].map((kind) => nameInTags(digest) + kind))].sort(),
  );
  for (const [i, image] of images.entries()) {
    const here = i < 2 ? 404 : 200;
    for (const { digest } of [image, note(image, '.sig'), note(image, 'subject', image)])
      assert.equal((await send('HEAD', `/v2/acme/app/manifests/${digest}`)).status, here);
  }
});

test('a tag belongs to an image when it names one, and stands for no image itself', () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  const other = `sha256-${'b'.repeat(64)}`;
  const [image, index] = [
    { digest, mediaType: mediaTypes.ociManifest, listedSubjects: [] },
    { digest, mediaType: mediaTypes.ociIndex, listedSubjects: [`sha256:${'b'.repeat(64)}`] },
  ];
  for (const kind of ['.sig', '.att', '.sbom']) assert.equal(attachedBy(other + kind, image), other);
  assert.equal(attachedBy(other, index), other, 'a list of referrers');
  assert.equal(attachedBy(other, { ...index, listedSubjects: [] }), other, 'a list of referrers that are not here');
  assert.equal(attachedBy(other, image), undefined, 'an image with such a tag');
  assert.equal(attachedBy(other, { ...index, listedSubjects: [''] }), undefined, 'an index of images that somebody named so');
  for (const own of [nameInTags(digest), `${nameInTags(digest)}.sig`]) assert.equal(attachedBy(own, index), undefined, 'its own digest');
  for (const ordinary of [`${other}.imgpkg`, `${other}0`, `x${other}.sig`, 'v1', 'sha256-abc.sig'])
    assert.equal(attachedBy(ordinary, index), undefined, ordinary);
  const long = { ...index, listedSubjects: [`sha512:${'c'.repeat(128)}`] };
  assert.equal(attachedBy(`sha512-${'c'.repeat(64)}`, long), nameInTags(`sha512:${'c'.repeat(128)}`), 'cut as the specification has it');
});

const day = (n: number) => new Date(1_700_000_000_000 - n * 86_400_000).toISOString();

test('for any repository the same images go as without signatures, and none of a kept image', () => {
  const digestFor = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
  fc.assert(
    fc.property(shape, (s) => {
      const blank = { subject: null, children: [], listedSubjects: [], cached: false, pulledAt: null, mediaType: mediaTypes.ociManifest };
      const images: ManifestState[] = s.images.map(({ age, tagged, both }, i) => ({
        ...blank,
        digest: digestFor(`image ${i}`),
        createdAt: day(age),
        tags: tagged ? [`v${i}`, ...(both ? [`also-${i}`] : [])] : [],
      }));
      const children = images.filter((_, i) => s.images[i]!.inIndex).map((m) => m.digest);
      if (children.length > 0)
        images.push({ ...blank, digest: digestFor('index'), mediaType: mediaTypes.ociIndex, children, createdAt: day(0), tags: ['all'] });
      const all = [...images];
      for (const [i, { to, how, age }] of s.attachments.entries()) {
        const image = all[to % all.length]!;
        const suffix = how === 'list' ? '' : how === 'subject' ? undefined : `.${how}`;
        const name = suffix === undefined ? undefined : nameInTags(image.digest) + suffix;
        if (name !== undefined && all.some((m) => m.tags.includes(name))) continue;
        const digest = digestFor(`attachment ${i}`);
        const mediaType = how === 'list' ? mediaTypes.ociIndex : mediaTypes.ociManifest;
        const subject = how === 'subject' ? image.digest : null;
        const listedSubjects = how === 'list' ? [image.digest] : [];
        all.push({ ...blank, digest, mediaType, subject, listedSubjects, createdAt: day(age), tags: name === undefined ? [] : [name] });
      }
      const place = { repository: 'app', immutable: [], now: day(0) };
      const verdict = (manifests: ManifestState[]) => {
        const tags = manifests.flatMap((m) =>
          m.tags.map((name) => ({ name, digest: m.digest, updatedAt: m.createdAt, pulledAt: m.pulledAt })),
        );
        const gone = takeSteps(planRetention(rulesOf(s), place, manifests, tags, new Set()));
        return { tags: gone.tags, images: gone.images.map((m) => m.digest) };
      };
      assert.deepEqual(verdict(all), verdict(images), 'no signature is counted, and none goes but with its image');
      // Once an image is gone, its untagged referrers count as untagged images and are removed at their age. Tagged referrers stay, and no
      // rule removes them.
      const orphans = all.filter((m) => m.subject !== null && images.some((image) => image.digest === m.subject));
      const left = all.filter((m) => !images.includes(m));
      assert.deepEqual(
        verdict(left).images,
        orphans
          .filter((m) => s.untaggedDays !== undefined && Date.parse(day(0)) - Date.parse(m.createdAt) >= s.untaggedDays * 86_400_000)
          .map((m) => m.digest),
      );
      assert.deepEqual(verdict(left).tags, []);
    }),
    { numRuns: 1_000 },
  );
});

// A few repositories in every run; the campaign runs many.
test('and so it is on a server, attachments of attachments and indexes included', (t) => judgeOnServer(t, 5));
