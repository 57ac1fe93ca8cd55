import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { isReferenced, lockLink } from '../../store/blobs.ts';
import { evictableBytes, leastUsed, lockCached, unneededLinks } from '../../store/eviction.ts';
import { quotaOf } from '../../store/quota.ts';
import { freeBytes, OverQuota } from '../quota.ts';
import { removeManifest, unlinkBlob, withoutDelay } from '../removal.ts';

const linksPerBatch = 100;

/** A cache fill evicts only images unused for this long: a large image must not evict its own first layers. */
export const fillEvictsUnusedForSeconds = 3_600;

/**
 * Runs `act`. On OverQuota, cached images unused for `unusedSeconds` are evicted, least recently used first, and `act` runs again. If
 * evicting all of them would not be enough, none is evicted and OverQuota is thrown.
 */
export async function withEviction<T>(app: App, registryId: string, act: () => Promise<T>, unusedSeconds = 0): Promise<T> {
  for (let attempts = 0; ; attempts++) {
    try {
      return await act();
    } catch (error) {
      // A concurrent push may take the freed bytes, so this is tried several times.
      if (!(error instanceof OverQuota) || attempts >= 5) throw error;
      if (!(await evict(app, registryId, error.detail.neededBytes, unusedSeconds))) throw error;
    }
  }
}

/** True when `needed` bytes are free. Safe to stop anywhere: garbage collection also handles the remains of an image. */
export async function evict(app: App, registryId: string, needed: number, unusedSeconds = 0): Promise<boolean> {
  const { db, caches } = app;
  const hasRoom = async () => {
    const quota = await db.read((tx) => quotaOf(tx, registryId));
    return quota !== undefined && freeBytes(quota) >= needed;
  };
  const before = await db.read((tx) => quotaOf(tx, registryId));
  if (!before || freeBytes(before) + (await db.read((tx) => evictableBytes(tx, registryId, unusedSeconds))) < needed) return false;

  // One transaction per link: the registry's row is locked last, so a second link cannot follow in the same transaction. A link that
  // garbage collection removed meanwhile also counts; otherwise one image too many would be evicted.
  const dropLinks = async () => {
    let dropped = 0;
    for (const { repository_id, blob_id } of await db.read((tx) => unneededLinks(tx, registryId, linksPerBatch))) {
      await db.write(async (tx) => {
        const link = await lockLink(tx, repository_id, blob_id, 0);
        if (link && (!link.cached || (await isReferenced(tx, repository_id, link.digest)))) return;
        if (link) await unlinkBlob(tx, caches, link);
        dropped++;
      });
    }
    return dropped;
  };
  let images = 0;
  while (!(await hasRoom())) {
    if ((await dropLinks()) > 0) continue;
    const oldest = await db.read((tx) => leastUsed(tx, registryId, unusedSeconds));
    if (!oldest) break;
    const { digest, ...repository } = oldest;
    // Checked again under the lock: the image may have been pushed since.
    const drop = async (tx: Tx) =>
      (await lockCached(tx, repository.id, digest)) && removeManifest(tx, caches, repository, digest, withoutDelay);
    if (await db.write(drop)) images++;
  }
  if (images > 0)
    app.log.info({ registry: registryId, images, needed }, 'cached images were evicted; they are fetched again on the next pull');
  return hasRoom();
}
