import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { run } from '../../../../kernel/db/index.ts';
import { moveClock } from '../../../../kernel/time.ts';
import { retain } from '../../engine/gc/retain.ts';
import { nameInTags } from '../../rules/attachments.ts';
import type { Retention } from '../../rules/retention.ts';
import { type Image, imageOf, indexOf, pushBlob, putManifest, registryServer, type Send } from '../registry-server.ts';

const { signal } = new AbortController();

// A repository as numbers: images with tags and ages, indexes of them, and attachments, each to an earlier manifest.
export const shape = fc.record({
  images: fc.array(fc.record({ age: fc.nat(40), tagged: fc.boolean(), both: fc.boolean(), inIndex: fc.boolean() }), {
    minLength: 1,
    maxLength: 8,
  }),
  attachments: fc.array(fc.record({ to: fc.nat(), how: fc.constantFrom('sig', 'att', 'sbom', 'subject', 'list'), age: fc.nat(40) }), {
    maxLength: 14,
  }),
  keepLast: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  keepDays: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
  untaggedDays: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
});
type Shape = typeof shape extends fc.Arbitrary<infer S> ? S : never;

export const rulesOf = ({ keepLast, keepDays, untaggedDays }: Shape): Retention => ({
  ...(untaggedDays === undefined ? {} : { untaggedDays }),
  ...(keepLast === undefined && keepDays === undefined
    ? {}
    : { rules: [{ ...(keepLast === undefined ? {} : { keepLast }), ...(keepDays === undefined ? {} : { keepDays }) }] }),
});

const config = imageOf([]).blobs[0]!;
export const pushBlobs = (send: Send, name: string) => pushBlob(send, name, config);
export const put = async (send: Send, name: string, reference: string, image: Image) => {
  const answer = await putManifest(send, name, reference, image);
  assert.equal(answer.status, 201, answer.body.toString());
};
/** An attachment of an image, by `subject` or by tag. */
export const note = (image: Image, what: string, subject?: Image) =>
  imageOf([], {
    annotations: { about: image.digest, what },
    ...(subject ? { subject: { mediaType: subject.type, digest: subject.digest, size: subject.body.length } } : {}),
  });

/** On a server the same images are removed as without signatures, and no attachment of a kept image. */
export async function judgeOnServer(t: TestContext, numRuns: number): Promise<void> {
  const { send, app, engine } = await registryServer(t);
  const later = (days: number) => app.db.write((tx) => moveClock(tx, days * 86_400));
  let repositories = 0;
  /** Pushes a repository of this shape. Returns its images, and the owner of each attachment. */
  const fill = async (name: string, s: Shape, signed: boolean) => {
    await pushBlobs(send, name);
    const images = s.images.map((_, i) => imageOf([], { annotations: { i: String(i) } }));
    const all = [...images];
    const belongs = new Map<string, string>();
    const days = s.images.map(({ age }) => age % 10);
    let today = 10;
    const until = async (day: number) => {
      if (today > day) await later(today - day);
      today = day;
    };
    for (const [i, image] of [...images.entries()].sort(([a], [b]) => days[b]! - days[a]!)) {
      await until(days[i]!);
      await put(send, name, s.images[i]!.tagged ? `v${i}` : image.digest, image);
    }
    await until(-1);
    const children = images.filter((_, i) => s.images[i]!.inIndex);
    const index = indexOf(children);
    if (children.length > 0) {
      await put(send, name, 'all', index);
      images.push(index);
      all.push(index);
    }
    for (const { to, how } of signed ? s.attachments : []) {
      const image = all[to % all.length]!;
      const what = note(image, how, how === 'subject' || how === 'list' ? image : undefined);
      if (belongs.has(what.digest)) continue;
      if (how === 'list') {
        await put(send, name, what.digest, what);
        const list = indexOf([what]);
        await put(send, name, nameInTags(image.digest), list);
        belongs.set(list.digest, image.digest);
      } else await put(send, name, how === 'subject' ? what.digest : `${nameInTags(image.digest)}.${how}`, what);
      belongs.set(what.digest, image.digest);
      all.push(what);
    }
    return { images, belongs };
  };
  const isHere = async (name: string, digest: string) => (await send('HEAD', `/v2/${name}/manifests/${digest}`)).status === 200;

  await fc.assert(
    fc.asyncProperty(shape, async (s) => {
      const [signed, plain] = [`acme/signed-${++repositories}`, `acme/plain-${repositories}`];
      await app.db.write((tx) => run(tx)`update registry.registry set retention = '{}'`);
      const bare = await fill(plain, s, false);
      const { images, belongs } = await fill(signed, s, true);
      // The second was pushed later: both get the same age.
      await app.db.write(
        (tx) => run(tx)`update registry.manifest m set created_at = p.created_at from registry.manifest p
          where p.digest = m.digest and p.repository_id = (select id from registry.repository where 'acme/' || name = ${plain})
            and m.repository_id = (select id from registry.repository where 'acme/' || name = ${signed})`,
      );
      await app.db.write(
        (tx) => run(tx)`update registry.tag g set updated_at = p.updated_at from registry.tag p
          where p.name = g.name and p.repository_id = (select id from registry.repository where 'acme/' || name = ${plain})
            and g.repository_id = (select id from registry.repository where 'acme/' || name = ${signed})`,
      );
      await app.db.write((tx) => run(tx)`update registry.registry set retention = ${JSON.stringify(rulesOf(s))}::jsonb`);
      await retain(engine, signal, app.log);
      for (const [i, { digest }] of images.entries())
        assert.equal(await isHere(signed, digest), await isHere(plain, bare.images[i]!.digest), `image ${i}`);
      for (const [digest, image] of belongs)
        assert.equal(await isHere(signed, digest), await isHere(signed, image), 'an attachment stays and goes with its image');
      const tags = async (name: string) => ((await send('GET', `/v2/${name}/tags/list`)).json() as { tags: string[] }).tags;
      assert.deepEqual(
        (await tags(signed)).filter((tag) => !tag.startsWith('sha256-')),
        await tags(plain),
      );
    }),
    { numRuns },
  );
}
