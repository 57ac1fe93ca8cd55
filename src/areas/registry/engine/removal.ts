import type { Caches } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import { topics } from '../rules/topics.ts';
import { deleteLink, type LinkRow, linkedElsewhere } from '../store/blobs.ts';
import { forgetOnceTagged } from '../store/once-tagged.ts';
import { enqueueReview, linkRef } from '../store/queue.ts';
import * as store from '../store/removal.ts';
import type { RepositoryRow } from '../store/repositories.ts';
import { bookBytes, bookRemovedManifests, type RemovedManifest } from './quota.ts';
import { recountIndexes } from './recount-indexes.ts';

// Removal of blobs, manifests and tags. One transaction updates the quota, queues reviews for garbage collection, and drops the topics in
// all caches. Lock order: link or manifest first, the registry's row last.

/** Unlinks a blob from a repository. The caller holds the link's lock and has checked that no image needs the blob. */
export async function unlinkBlob(tx: Tx, caches: Caches, link: LinkRow) {
  await deleteLink(tx, link.repository_id, link.blob_id);
  await enqueueReview(tx, link.registry_id, 'blob', [String(link.blob_id)], 0);
  await caches.drop(tx, topics.blob(link.repository_id, link.digest));
  await bookBytes(tx, link.registry_id, {
    size: link.size,
    sign: -1,
    elsewhere: () => linkedElsewhere(tx, link.registry_id, link.repository_id, link.blob_id),
  });
}

/**
 * The delay before an image's layers may be collected. `graceSeconds` 0: the quota is freed at once. Layers that a running push was told of
 * stay as uncounted promises.
 */
export interface RemovalDelay {
  delaySeconds: number;
  graceSeconds?: 0;
}

/** The quota is freed at once. */
export const withoutDelay: RemovalDelay = { delaySeconds: 0, graceSeconds: 0 };

/**
 * Deletes a manifest's row and drops caches, without booking: the registry's row is locked last, also when several manifests are deleted.
 */
export async function dropManifest(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  digest: string,
  delay: RemovalDelay,
): Promise<RemovedManifest | undefined> {
  const needed = await store.blobsNeededBy(tx, repository.id, digest);
  const gone = await store.deleteManifest(tx, repository.id, digest);
  if (!gone) return undefined;
  hint(tx, repository.org_id, 'registry.image', 'registry.registry');
  await forgetOnceTagged(tx, repository.id, digest);
  const refs = needed.map((blobId) => linkRef(repository.id, blobId));
  await enqueueReview(tx, repository.registry_id, 'link', refs, delay.delaySeconds, delay.graceSeconds ?? null);
  await recountIndexes(tx, repository, digest);
  // The tags went with it, so all cached names of the repository are dropped.
  await caches.drop(tx, topics.repository(repository.id));
  return gone;
}

/** Deletes one manifest with its tags. Its layers stay linked until garbage collection reviews them. False: no such manifest. */
export async function removeManifest(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  digest: string,
  delay: RemovalDelay,
): Promise<boolean> {
  const gone = await dropManifest(tx, caches, repository, digest, delay);
  if (gone) await bookRemovedManifests(tx, repository.registry_id, [gone]);
  return gone !== undefined;
}

/** `seen`: deletes the tag only if it has not been pushed since it was read. */
export async function removeTag(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  name: string,
  seen: { manifestId: number; updatedAt: string } | null = null,
): Promise<{ digest: string } | undefined> {
  const gone = await store.deleteTag(tx, repository.id, name, seen);
  if (!gone) return undefined;
  hint(tx, repository.org_id, 'registry.image');
  await caches.drop(tx, topics.tag(repository.id, name));
  return gone;
}
