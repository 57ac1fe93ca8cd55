import type { Caches } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, Refusal } from '../../../kernel/errors.ts';
import { attachedBy } from '../rules/attachments.ts';
import { RegistryError } from '../rules/errors.ts';
import { immutableIn } from '../rules/immutable.ts';
import { indexLimits } from '../rules/manifest.ts';
import { isReferenced, linkedBlob, lockLink } from '../store/blobs.ts';
import { indexesLeadingTo, tagsListing, tagsOf } from '../store/manifests.ts';
import { noteOnceTagged } from '../store/once-tagged.ts';
import { withdrawPromise } from '../store/promises.ts';
import { lockManifest, lockUnlessKept, parentOf } from '../store/removal.ts';
import type { RepositoryRow } from '../store/repositories.ts';
import { imagesHeld } from '../store/retention.ts';
import { type PurgeResult, purgeManifest } from './purge.ts';
import { type RemovalDelay, removeManifest, removeTag, unlinkBlob, withoutDelay } from './removal.ts';

// Deletions that a caller requests, through /v2 or the control API, and the cases in which they are refused.

/** The registry's rules protect the tag. 409 in the control API; the data plane maps it to DENIED. */
export class ImmutableTag extends Refusal {
  constructor(tag: string) {
    super(409, 'conflict', `the tag ${tag} is immutable in this registry; change the registry's rules first`);
    this.name = 'ImmutableTag';
  }
}

/** An immutable tag is removed only after the registry's rules have changed. */
function refuseImmutable({ immutable_tags, name }: RepositoryRow, tags: readonly string[]) {
  const fixed = tags.find(immutableIn(immutable_tags, name));
  if (fixed !== undefined) throw new ImmutableTag(fixed);
}

/** Deletes only the tag. Undefined: no such tag. */
export async function deleteTag(tx: Tx, caches: Caches, repository: RepositoryRow, tag: string): Promise<{ digest: string } | undefined> {
  refuseImmutable(repository, [tag]);
  const removed = await removeTag(tx, caches, repository, tag);
  if (removed) await noteOnceTagged(tx, repository, tag, removed.digest);
  return removed;
}

/** Purges an image that lost its last tag, with its attachments, unless something else keeps it. */
export async function purgeUntagged(tx: Tx, caches: Caches, repository: RepositoryRow, digest: string): Promise<boolean> {
  if (!(await lockUnlessKept(tx, repository.id, digest))) return false;
  await purgeManifest(tx, caches, repository, digest, withoutDelay);
  return true;
}

/** Purges an image with its tags, its children and its attachments that never had a tag. Refused while an index lists the image. */
export async function purgeImage(tx: Tx, caches: Caches, repository: RepositoryRow, digest: string): Promise<PurgeResult> {
  await lockManifest(tx, repository.id, digest);
  refuseImmutable(repository, await tagsOf(tx, repository.id, digest));
  const parent = await parentOf(tx, repository.id, digest);
  if (parent) conflict(`the index ${parent} still lists this image; delete that first`);
  return purgeManifest(tx, caches, repository, digest, withoutDelay);
}

/**
 * Deletes a manifest with its tags and nothing else; its children and layers age out. Refused below a tagged index: the tag would stand for
 * an image that cannot be pulled. False: no such manifest.
 */
export async function deleteManifest(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  digest: string,
  delay: RemovalDelay,
): Promise<boolean> {
  await lockManifest(tx, repository.id, digest);
  refuseImmutable(repository, await tagsOf(tx, repository.id, digest));
  await refuseTagged(tx, repository, digest);
  return removeManifest(tx, caches, repository, digest, delay);
}

/** An image may be in many indexes; beyond this number the deletion is refused. */
const maxIndexesChecked = 10_000;

/**
 * Refuses to delete a manifest that a tagged index leads to. A list of referrers does not protect its entries, unless its tag is immutable
 * or names an image that the registry does not have.
 */
async function refuseTagged(tx: Tx, repository: RepositoryRow, digest: string) {
  const limits = { maxRows: maxIndexesChecked + 1, depth: indexLimits.depth + 1 };
  const indexes = await indexesLeadingTo(tx, repository.id, digest, limits);
  const listing = await tagsListing(tx, [...new Set(indexes.map((index) => index.id))]);
  const attaching = new Map(listing.map((index) => [index, attachedBy(index.tag, index)]));
  const named = [...new Set(attaching.values())].filter((image) => image !== undefined);
  const held = new Set(await imagesHeld(tx, repository.registry_id, named));
  const isFixed = immutableIn(repository.immutable_tags, repository.name);
  const keeping = listing.find((index) => {
    const image = attaching.get(index);
    return image === undefined || !held.has(image) || isFixed(index.tag);
  });
  if (keeping)
    throw new RegistryError('DENIED', `the index ${keeping.digest}, tagged ${keeping.tag}, leads to this image; delete that first`, {
      detail: { index: keeping.digest, tag: keeping.tag },
    });
  if (indexes.length > maxIndexesChecked || indexes.some((index) => index.depth > indexLimits.depth))
    throw new RegistryError('DENIED', 'too many indexes lead to this image to tell whether one of them has a tag; delete those first');
}

/** Refused while an image of the repository needs the blob; garbage collection deletes it later. False: no such blob. */
export async function deleteBlob(tx: Tx, caches: Caches, repository: RepositoryRow, digest: string): Promise<boolean> {
  const blob = await linkedBlob(tx, repository.id, digest);
  const link = blob && (await lockLink(tx, repository.id, blob.id, 0));
  if (link && (await isReferenced(tx, repository.id, digest)))
    throw new RegistryError(
      'UNSUPPORTED',
      `an image of ${repository.slug}/${repository.name} needs the blob ${digest}; delete the image, and the blob goes by itself`,
    );
  // Also when a purge has already removed the link: a later push must not restore a blob that a client deleted.
  await withdrawPromise(tx, repository, digest);
  if (link) await unlinkBlob(tx, caches, link);
  return link !== undefined;
}
