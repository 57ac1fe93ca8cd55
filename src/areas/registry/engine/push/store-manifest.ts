import { createHash } from 'node:crypto';
import type { App } from '../../../../kernel/app.ts';
import type { Caches } from '../../../../kernel/cache.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { hint } from '../../../../kernel/jobs/index.ts';
import { RegistryError } from '../../rules/errors.ts';
import { isImmutable } from '../../rules/immutable.ts';
import { indexLimits, type Manifest } from '../../rules/manifest.ts';
import type { Algorithm } from '../../rules/names.ts';
import { topics } from '../../rules/topics.ts';
import { type BlobRow, linkBlob, linkedElsewhere, shareLinks } from '../../store/blobs.ts';
import { countContent } from '../../store/content.ts';
import { insertTag, keepListed, lockTag, manifestsUnder, moveTag, putManifest, renewTag, shareListed } from '../../store/manifests.ts';
import { noteOnceTagged } from '../../store/once-tagged.ts';
import { redeemPromises } from '../../store/promises.ts';
import { shareRepository } from '../../store/removed-repositories.ts';
import { ensureRepository, type RepositoryRow } from '../../store/repositories.ts';
import { forgetChecked } from '../../store/upstreams.ts';
import type { CheckPermission } from '../credentials/index.ts';
import { withEviction } from '../gc/evict.ts';
import { bookBytes } from '../quota.ts';
import { recountIndexes } from '../recount-indexes.ts';
import { retryWhileUnavailable } from './database-retry.ts';

export interface PushedManifest {
  repository: RepositoryRow;
  digest: string;
  body: Buffer;
  parsed: Manifest;
  tags: readonly string[];
  by: string;
  /** Fetched from an upstream: its layers are fetched on demand, and it takes no tag from a pushed image. */
  cached?: boolean;
}

export const digestOf = (body: Buffer, algorithm: Algorithm) => `${algorithm}:${createHash(algorithm).update(body).digest('hex')}`;

/**
 * Stores a pushed manifest. Creates the repository if needed and evicts cached images if the quota is full. Undefined: the registry is
 * gone.
 */
export const pushManifest = (
  app: App,
  place: { registryId: string; name: string },
  pushed: Omit<PushedManifest, 'repository'>,
  allow: CheckPermission,
) =>
  withEviction(app, place.registryId, () =>
    retryWhileUnavailable(() =>
      app.db.write(async (tx) => {
        const [, repository] = await Promise.all([allow(tx), ensureRepository(tx, place)]);
        if (repository) await storeManifest(tx, app.caches, { ...pushed, repository });
        return repository;
      }),
    ),
  );

/** Stores a manifest and moves its tags. Lock order: repository, links, manifest, children, tags by name, the registry's row. */
export async function storeManifest(tx: Tx, caches: Caches, pushed: PushedManifest): Promise<{ id: number }> {
  const { repository, digest, body, parsed, by, cached = false } = pushed;
  hint(tx, repository.org_id, 'registry.image', 'registry.registry');
  const [, linked] = await Promise.all([shareRepository(tx, repository.id), cached ? [] : requireBlobs(tx, repository, parsed)]);
  const put = { org: repository.org_id, repositoryId: repository.id, digest, body, pushedBy: by, parsed, cached };
  const { id, fresh, mediaType, weight } = await putManifest(tx, put);
  if (!cached) {
    refuseRetyped(mediaType, parsed);
    if (parsed.children.length > 0) await keepListedManifests(tx, repository, id, by);
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

/** The children of a pushed index stay with it and no longer belong to the cache. */
async function keepListedManifests(tx: Tx, repository: RepositoryRow, indexId: number, by: string) {
  const { manifests, depth } = indexLimits;
  const listed = await manifestsUnder(tx, indexId, { maxRows: manifests + 1, depth: depth + 1 });
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

/**
 * A manifest without a mediaType keeps the type of its first push. Another type would change the content of every tag and digest, even
 * immutable ones.
 */
function refuseRetyped(mediaType: string, parsed: Manifest) {
  if (mediaType !== parsed.mediaType)
    throw new RegistryError(
      'MANIFEST_INVALID',
      `the repository has this manifest as ${mediaType}, not as ${parsed.mediaType}; push it with that Content-Type, or name the type in its mediaType`,
    );
}

/** Of two concurrent first pushes of a tag, the second to insert it reads again and sees the first one's row. */
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

/** Locks the links of the image's blobs (FOR SHARE). Promised blobs are linked again and returned; the caller books them last. */
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
