import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { isReferenced, lockLink } from '../../store/blobs.ts';
import { evictableBytes, leastUsed, lockCached, looseLinks } from '../../store/eviction.ts';
import { quotaOf } from '../../store/quota.ts';
import { freeOf, OverQuota } from '../quota.ts';
import { leavingAtOnce, removeManifest, unlinkBlob } from '../removal.ts';

const batch = 100;

/** What the cache itself brings replaces only images that nobody uses: a large image must not push out its own first layers. */
export const settledSeconds = 3_600;

/** Does something that may find the registry full; then cached images that nobody pulled for `unusedSeconds` make room, the least
 *  recently used first, and it is done again. When even all of them would not be enough none goes, and OverQuota stands. */
export async function withRoom<T>(app: App, registryId: string, act: () => Promise<T>, unusedSeconds = 0): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await act();
    } catch (error) {
      // Others push as well, and may take the room that was just made.
      if (!(error instanceof OverQuota) || tries >= 5) throw error;
      if (!(await evict(app, registryId, error.detail.neededBytes, unusedSeconds))) throw error;
    }
  }
}

/** True when `needed` bytes are free now. Safe to stop anywhere: what an image leaves behind is garbage collection's as well. */
export async function evict(app: App, registryId: string, needed: number, unusedSeconds = 0): Promise<boolean> {
  const { db, caches } = app;
  const hasRoom = async () => {
    const quota = await db.read((tx) => quotaOf(tx, registryId));
    return quota !== undefined && freeOf(quota) >= needed;
  };
  const before = await db.read((tx) => quotaOf(tx, registryId));
  if (!before || freeOf(before) + (await db.read((tx) => evictableBytes(tx, registryId, unusedSeconds))) < needed) return false;

  // Each link in a transaction of its own: the registry's row is locked last, and a second link would come after it. One that garbage
  // collection took meanwhile made room as well: it counts, or the next image would go for nothing.
  const dropLinks = async () => {
    let dropped = 0;
    for (const { repository_id, blob_id } of await db.read((tx) => looseLinks(tx, registryId, batch))) {
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
    // Asked again under its lock: somebody may have pushed it since.
    const drop = async (tx: Tx) =>
      (await lockCached(tx, repository.id, digest)) && removeManifest(tx, caches, repository, digest, leavingAtOnce);
    if (await db.write(drop)) images++;
  }
  if (images > 0)
    app.log.info({ registry: registryId, images, needed }, 'cached images made room; they are fetched again when somebody pulls them');
  return hasRoom();
}
