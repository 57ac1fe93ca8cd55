import { createHash } from 'node:crypto';
import type { App } from '../../../../kernel/app.ts';
import type { Caches } from '../../../../kernel/cache.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { RegistryError } from '../../rules/errors.ts';
import { isImmutable } from '../../rules/immutable.ts';
import { indexBounds, type Manifest } from '../../rules/manifest.ts';
import type { Algorithm } from '../../rules/names.ts';
import { topics } from '../../rules/topics.ts';
import { type BlobRow, linkBlob, linkedElsewhere, shareLinks } from '../../store/blobs.ts';
import { countContent } from '../../store/content.ts';
import { insertTag, keepListed, ledTo, lockTag, moveTag, putManifest, renewTag, shareListed } from '../../store/manifests.ts';
import { noteOnceTagged } from '../../store/once-tagged.ts';
import { redeemPromises } from '../../store/promises.ts';
import { shareRepository } from '../../store/removed-repositories.ts';
import { ensureRepository, type RepositoryRow } from '../../store/repositories.ts';
import { forgetChecked } from '../../store/upstreams.ts';
import type { Allow } from '../credentials/index.ts';
import { withRoom } from '../gc/evict.ts';
import { bookBytes } from '../quota.ts';
import { recountIndexes } from '../uncount.ts';
import { patiently } from './patience.ts';

export interface Pushed {
  repository: RepositoryRow;
  digest: string;
  body: Buffer;
  parsed: Manifest;
  tags: readonly string[];
  by: string;
  /** Fetched from an upstream: its layers come when somebody pulls them, and it takes no tag away from what was pushed. */
  cached?: boolean;
}

export const digestOf = (body: Buffer, algorithm: Algorithm) => `${algorithm}:${createHash(algorithm).update(body).digest('hex')}`;

/** A manifest that somebody pushes: its repository is made when it is not there, and cached images make room. Undefined: the registry
 *  is gone. */
export const pushManifest = (app: App, place: { registryId: string; name: string }, pushed: Omit<Pushed, 'repository'>, allow: Allow) =>
  withRoom(app, place.registryId, () =>
    patiently(() =>
      app.db.write(async (tx) => {
        const [, repository] = await Promise.all([allow(tx), ensureRepository(tx, place)]);
        if (repository) await storeManifest(tx, app.caches, { ...pushed, repository });
        return repository;
      }),
    ),
  );

/** Stores a manifest and moves its tags. Locks in this order: repository, links, manifest, what it lists, tags by name, the registry's row. */
export async function storeManifest(tx: Tx, caches: Caches, pushed: Pushed): Promise<{ id: number }> {
  const { repository, digest, body, parsed, by, cached = false } = pushed;
  const [, linked] = await Promise.all([shareRepository(tx, repository.id), cached ? [] : requireBlobs(tx, repository, parsed)]);
  const put = { org: repository.org_id, repositoryId: repository.id, digest, body, pushedBy: by, parsed, cached };
  const { id, fresh, mediaType, weight } = await putManifest(tx, put);
  if (!cached) {
    refuseRetyped(mediaType, parsed);
    if (parsed.children.length > 0) await keepWhatIsListed(tx, repository, id, by);
  }
  if (parsed.children.length > 0) await countContent(tx, [id]);
  if (fresh) await recountIndexes(tx, repository, digest);

  const tags = [...new Set(pushed.tags)].sort();
  for (const tag of tags) await setTag(tx, caches, repository, tag, { id, cached });
  const { id: repositoryId, registry_id } = repository;
  for (const blob of linked)
    await bookBytes(tx, registry_id, {
      size: blob.size,
      sign: 1,
      elsewhere: () => linkedElsewhere(tx, registry_id, repositoryId, blob.id),
    });
  if (fresh) await bookBytes(tx, registry_id, { size: weight, sign: 1 });
  return { id };
}

/** What the index leads to stays for it, and is the cache's no more. */
async function keepWhatIsListed(tx: Tx, repository: RepositoryRow, indexId: number, by: string) {
  const { manifests, depth } = indexBounds;
  const listed = await ledTo(tx, indexId, { most: manifests + 1, depth: depth + 1 });
  if (listed.length > manifests)
    throw new RegistryError(
      'MANIFEST_INVALID',
      `the index leads to more than ${manifests} manifests by way of the indexes in it; list fewer, or push them under indexes of their own`,
    );
  if (listed.some((m) => m.depth > depth))
    throw new RegistryError('MANIFEST_INVALID', `the index leads to indexes more than ${depth} deep; list what those lead to instead`);
  const ids = [...new Set(listed.map((m) => m.id))].filter((id) => id !== null);
  await shareListed(tx, ids);
  if (repository.upstream_host !== null) await keepListed(tx, ids, by);
}

/** Bytes that name no type of their own are for ever what they were pushed as: another type would change what stands under every tag
 *  and digest they have, however immutable. */
function refuseRetyped(mediaType: string, parsed: Manifest) {
  if (mediaType !== parsed.mediaType)
    throw new RegistryError(
      'MANIFEST_INVALID',
      `the repository has this manifest as ${mediaType}, not as ${parsed.mediaType}; push it with that Content-Type, or name the type in its mediaType`,
    );
}

/** Two first pushes of a tag both find nothing: the second to insert it looks again, and judges what the first has made. */
async function setTag(tx: Tx, caches: Caches, repository: RepositoryRow, tag: string, { id, cached }: { id: number; cached: boolean }) {
  if (!cached && repository.upstream_host !== null) await forgetChecked(tx, repository.id, tag);
  for (;;) {
    const before = await lockTag(tx, repository.id, tag);
    if (!before) {
      if (await insertTag(tx, repository.id, tag, id)) return;
      continue;
    }
    if (cached && (before.manifest_id === id || !before.fetched)) return;
    if (before.manifest_id === id) return void (await renewTag(tx, repository.id, tag));
    if (isImmutable(repository.immutable_tags, repository.name, tag)) {
      throw new RegistryError(
        'DENIED',
        `the tag ${tag} is immutable in this registry and stands for ${before.digest}; push under another tag`,
      );
    }
    await moveTag(tx, repository.id, tag, id);
    if (!cached) await noteOnceTagged(tx, repository, tag, before.digest);
    return caches.drop(tx, topics.tag(repository.id, tag));
  }
}

/** Shares the links of what the image needs. What was promised to a push is linked again: those are returned, to be booked last. */
async function requireBlobs(tx: Tx, repository: RepositoryRow, { blobs }: Manifest): Promise<BlobRow[]> {
  const held = new Set(
    (
      await shareLinks(
        tx,
        repository.id,
        blobs.map((b) => b.digest),
      )
    ).map((l) => l.digest),
  );
  const unlinked = blobs.map((b) => b.digest).filter((digest) => !held.has(digest));
  const promised = unlinked.length > 0 ? await redeemPromises(tx, repository.id, unlinked) : [];
  const linked: BlobRow[] = [];
  for (const blob of promised) {
    if (await linkBlob(tx, repository.id, repository.registry_id, blob.id)) linked.push(blob);
    held.add(blob.digest);
  }
  const missing = blobs.filter((b) => !b.elsewhere && !held.has(b.digest)).map((b) => b.digest);
  if (missing.length > 0) {
    throw new RegistryError('MANIFEST_BLOB_UNKNOWN', `the repository lacks ${missing.length} blob(s) of the image; push them first`, {
      detail: missing.slice(0, 20).map((digest) => ({ digest })),
    });
  }
  return linked;
}
