import type { Caches } from '../../../kernel/cache.ts';
import type { Db, Tx } from '../../../kernel/db/index.ts';
import { hint, wake } from '../../../kernel/jobs/index.ts';
import { topics } from '../rules/topics.ts';
import { collectTask, enqueueReviewOf } from '../store/queue.ts';
import { changeFigures, lockQuota } from '../store/quota.ts';
import * as store from '../store/removed-repositories.ts';
import { endUploadsOf, expireTask, hasUploads } from '../store/uploads.ts';
import { bookRemovedManifests, type RemovedManifest } from './quota.ts';

// Removal of a whole repository of any size. The request's transaction detaches the repository from its registry, so no name, list or push
// finds it, and deletes the first batch. Garbage collection deletes further batches, one per transaction, and the row last. After a crash
// the row and the remaining content are still there, and the next run continues. Uploads end at once, but their rows and reservations stay
// until their bytes are deleted (gc/expire-uploads.ts); otherwise a tenant could fill the disk beyond its quota.

/** Limits of one transaction: rows, and the total weight of manifests. */
export const removalBatch = { rows: 500, manifestBytes: 4 * 1024 * 1024 };

/** Removes a repository with its manifests, tags, uploads and links. False: no such repository. */
export async function removeRepository(tx: Tx, caches: Caches, registryId: string, name: string): Promise<boolean> {
  const repository = await store.detachRepository(tx, registryId, name);
  if (!repository) return false;
  await caches.drop(tx, topics.repository(repository.id));
  if ((await endUploadsOf(tx, repository.id)) > 0) wake(tx, expireTask);
  if (!(await removeBatch(tx, repository))) wake(tx, collectTask);
  return true;
}

/** A removed repository whose batch could not be deleted. */
export interface RemovalFailure {
  repository: store.RemovedRow;
  error: unknown;
}

/**
 * Deletes one batch of a removed repository, of the organization after `afterOrg`; `skipped` repositories are left for later. Returns that
 * organization, with the failure if there was one. Undefined: none is left.
 */
export async function removeNextBatch(
  db: Db,
  afterOrg: string | null,
  skipped: readonly number[],
): Promise<{ org: string; failure?: RemovalFailure } | undefined> {
  let repository: store.RemovedRow | undefined;
  try {
    await db.write(async (tx) => {
      repository = await store.lockRemoved(tx, afterOrg, skipped);
      if (repository) await removeBatch(tx, repository);
    });
    return repository && { org: repository.org_id };
  } catch (error) {
    if (!repository) throw error; // the database is away
    return { org: repository.org_id, failure: { repository, error } };
  }
}

/** True when the repository and its row are deleted. shareRepository keeps other transactions from adding to it. */
async function removeBatch(tx: Tx, { id, org_id, removed_from: registryId }: store.RemovedRow): Promise<boolean> {
  hint(tx, org_id, 'registry.image', 'registry.registry');
  let rowsLeft = removalBatch.rows;
  const removeUpTo = async <T extends { length: number }>(
    remove: (tx: Tx, id: number, limit: number) => Promise<T>,
    none: T,
  ): Promise<T> => {
    if (rowsLeft === 0) return none;
    const removed = await remove(tx, id, rowsLeft);
    rowsLeft -= removed.length;
    return removed;
  };
  for (const remove of store.uncountedRows) await removeUpTo(async (...of) => ({ length: await remove(...of) }), { length: 0 });
  let isCut = false;
  const manifests = await removeUpTo<RemovedManifest[]>(async (_tx, _id, maxRows) => {
    const { gone, ...rest } = await store.deleteManifests(tx, id, { maxRows, maxBytes: removalBatch.manifestBytes });
    isCut = rest.isCut;
    return gone;
  }, []);
  const blobs = await removeUpTo(store.deleteLinks, []);
  // Promises go as well: they cannot be redeemed any more, but the queue entry would wait for their end.
  const promised = await removeUpTo(store.deletePromises, []);
  const isDone = rowsLeft > 0 && !isCut && !(await hasUploads(tx, id));
  if (isDone) await store.deleteRepository(tx, id);
  await enqueueReviewOf(tx, org_id, 'blob', [...new Set([...blobs, ...promised])].map(String), 0);
  await bookRemovedManifests(tx, registryId, manifests);
  await bookUnlinked(tx, registryId, blobs);
  return isDone;
}

/** Subtracts the blobs that no repository of the registry links any more. */
async function bookUnlinked(tx: Tx, registryId: string, blobs: number[]) {
  if (blobs.length === 0 || !(await lockQuota(tx, registryId))) return;
  await changeFigures(tx, registryId, { used: -(await store.unlinkedBytes(tx, registryId, blobs)), reserved: 0 });
}
