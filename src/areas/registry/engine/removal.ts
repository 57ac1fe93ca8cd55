import type { Caches } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { topics } from '../rules/topics.ts';
import { deleteLink, type LinkRow, linkedElsewhere } from '../store/blobs.ts';
import { forgetOnceTagged } from '../store/once-tagged.ts';
import { linkRef, review } from '../store/queue.ts';
import * as store from '../store/removal.ts';
import type { RepositoryRow } from '../store/repositories.ts';
import { bookBytes, bookGone, type GoneManifest } from './quota.ts';
import { recountIndexes } from './uncount.ts';

// How things leave a registry. Each keeps three promises in one transaction: the figures of the quota, what garbage collection must
// look at, and what other processes have to forget. Locks: link or manifest first, the registry's row last.

/** Takes a blob out of a repository. The lock on the link and the proof that no image needs it are the caller's. */
export async function unlinkBlob(tx: Tx, caches: Caches, link: LinkRow) {
  await deleteLink(tx, link.repository_id, link.blob_id);
  await review(tx, link.registry_id, 'blob', [String(link.blob_id)], 0);
  await caches.drop(tx, topics.blob(link.repository_id, link.digest));
  await bookBytes(tx, link.registry_id, {
    size: link.size,
    sign: -1,
    elsewhere: () => linkedElsewhere(tx, link.registry_id, link.repository_id, link.blob_id),
  });
}

/** How soon what an image leaves behind may go: with `graceSeconds` 0 its room is free at once, also of what a push was told of
 *  lately; that is promised to the push, and stays without being counted. */
export interface Leaving {
  delaySeconds: number;
  graceSeconds?: 0;
}

/** Room is free at once. */
export const leavingAtOnce: Leaving = { delaySeconds: 0, graceSeconds: 0 };

/** Deletes the row and tells everybody, but books nothing yet: the registry's row is locked last, also when several go. */
export async function dropManifest(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  digest: string,
  leaving: Leaving,
): Promise<GoneManifest | undefined> {
  const needed = await store.blobsNeededBy(tx, repository.id, digest);
  const gone = await store.deleteManifest(tx, repository.id, digest);
  if (!gone) return undefined;
  await forgetOnceTagged(tx, repository.id, digest);
  const refs = needed.map((blobId) => linkRef(repository.id, blobId));
  await review(tx, repository.registry_id, 'link', refs, leaving.delaySeconds, leaving.graceSeconds ?? null);
  await recountIndexes(tx, repository, digest);
  // Its tags went with it: everything remembered of the repository's names is in doubt.
  await caches.drop(tx, topics.repository(repository.id));
  return gone;
}

/** One manifest with its tags. Its layers stay linked until garbage collection has looked at them. False: it is not there. */
export async function removeManifest(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  digest: string,
  leaving: Leaving,
): Promise<boolean> {
  const gone = await dropManifest(tx, caches, repository, digest, leaving);
  if (gone) await bookGone(tx, repository.registry_id, [gone]);
  return gone !== undefined;
}

/** `seen`: only while it is still that one, which nobody has pushed since. */
export async function removeTag(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  name: string,
  seen: { manifestId: number; updatedAt: string } | null = null,
): Promise<{ digest: string } | undefined> {
  const gone = await store.deleteTag(tx, repository.id, name, seen);
  if (gone) await caches.drop(tx, topics.tag(repository.id, name));
  return gone;
}
