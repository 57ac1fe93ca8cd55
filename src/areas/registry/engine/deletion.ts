import type { Caches } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, Refusal } from '../../../kernel/errors.ts';
import { attachedBy } from '../rules/attachments.ts';
import { RegistryError } from '../rules/errors.ts';
import { immutableIn } from '../rules/immutable.ts';
import { indexBounds } from '../rules/manifest.ts';
import { isReferenced, linkedBlob, lockLink } from '../store/blobs.ts';
import { indexesLeadingTo, tagsListing, tagsOf } from '../store/manifests.ts';
import { noteOnceTagged } from '../store/once-tagged.ts';
import { withdrawPromise } from '../store/promises.ts';
import { lockManifest, lockUnlessKept, parentOf } from '../store/removal.ts';
import type { RepositoryRow } from '../store/repositories.ts';
import { imagesHeld } from '../store/retention.ts';
import { type Purged, purgeManifest } from './purge.ts';
import { type Leaving, leavingAtOnce, removeManifest, removeTag, unlinkBlob } from './removal.ts';

// What somebody asks to be deleted, by /v2 or by the control API, and when that is refused.

/** The registry's rules keep a tag. 409 to the control API; the data plane says it in its own words. */
export class ImmutableTag extends Refusal {
  constructor(tag: string) {
    super(409, 'conflict', `the tag ${tag} is immutable in this registry; change the registry's rules first`);
    this.name = 'ImmutableTag';
  }
}

/** Whoever may change the registry's rules may free a tag; nobody else takes it away. */
function refuseImmutable({ immutable_tags, name }: RepositoryRow, tags: readonly string[]) {
  const fixed = tags.find(immutableIn(immutable_tags, name));
  if (fixed !== undefined) throw new ImmutableTag(fixed);
}

/** Only the tag goes. Undefined: it is not there. */
export async function deleteTag(tx: Tx, caches: Caches, repository: RepositoryRow, tag: string): Promise<{ digest: string } | undefined> {
  refuseImmutable(repository, [tag]);
  const removed = await removeTag(tx, caches, repository, tag);
  if (removed) await noteOnceTagged(tx, repository, tag, removed.digest);
  return removed;
}

/** An image that lost its last tag goes with what is attached to it, unless something else keeps it. */
export async function purgeUntagged(tx: Tx, caches: Caches, repository: RepositoryRow, digest: string): Promise<boolean> {
  if (!(await lockUnlessKept(tx, repository.id, digest))) return false;
  await purgeManifest(tx, caches, repository, digest, leavingAtOnce);
  return true;
}

/** An image with its tags, and what it lists or what is attached to it and never had a tag of its own; unless an index lists it. */
export async function purgeImage(tx: Tx, caches: Caches, repository: RepositoryRow, digest: string): Promise<Purged> {
  await lockManifest(tx, repository.id, digest);
  refuseImmutable(repository, await tagsOf(tx, repository.id, digest));
  const parent = await parentOf(tx, repository.id, digest);
  if (parent) conflict(`the index ${parent} still lists this image; delete that first`);
  return purgeManifest(tx, caches, repository, digest, leavingAtOnce);
}

/** The manifest goes with its tags, and nothing else: its children and layers age out. What a tagged index leads to stays: without it
 *  the tag would stand for an image that nobody can pull. False: it is not there. */
export async function deleteManifest(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  digest: string,
  leaving: Leaving,
): Promise<boolean> {
  await lockManifest(tx, repository.id, digest);
  refuseImmutable(repository, await tagsOf(tx, repository.id, digest));
  await refuseListed(tx, repository, digest);
  return removeManifest(tx, caches, repository, digest, leaving);
}

/** An image may be in many indexes; more than these are not looked at one by one. */
const mostIndexes = 10_000;

/** A list of referrers is no image, and whoever removes one from it may begin with either; unless its tag is immutable, or names an
 *  image that nobody in the registry has. */
async function refuseListed(tx: Tx, repository: RepositoryRow, digest: string) {
  const bounds = { most: mostIndexes + 1, depth: indexBounds.depth + 1 };
  const indexes = await indexesLeadingTo(tx, repository.id, digest, bounds);
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
  if (indexes.length > mostIndexes || indexes.some((index) => index.depth > indexBounds.depth))
    throw new RegistryError('DENIED', 'too many indexes lead to this image to tell whether one of them has a tag; delete those first');
}

/** Refused while an image of the repository needs the blob: garbage collection takes it once none does. False: it is not there. */
export async function deleteBlob(tx: Tx, caches: Caches, repository: RepositoryRow, digest: string): Promise<boolean> {
  const blob = await linkedBlob(tx, repository.id, digest);
  const link = blob && (await lockLink(tx, repository.id, blob.id, 0));
  if (link && (await isReferenced(tx, repository.id, digest)))
    throw new RegistryError(
      'UNSUPPORTED',
      `an image of ${repository.slug}/${repository.name} needs the blob ${digest}; delete the image, and the blob goes by itself`,
    );
  // Also where a purge took the link already: whoever deletes the blob wants no image to bring it back.
  await withdrawPromise(tx, repository, digest);
  if (link) await unlinkBlob(tx, caches, link);
  return link !== undefined;
}
