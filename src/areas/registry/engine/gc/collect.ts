import { LRUCache } from 'lru-cache';
import { mayRemoveStored } from '../../../../kernel/backup/backup-lock.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { runAtQuarterLoad } from '../../../../kernel/yielding.ts';
import { isReferenced, lockLink } from '../../store/blobs.ts';
import { deleteDying, lockBlob, markDying } from '../../store/collect.ts';
import { promiseBlob, promisedUntil } from '../../store/promises.ts';
import { backOff, dequeue, nextDue, orgsWithDue, postpone, postponeBusy, type QueuedRow } from '../../store/queue.ts';
import { purgeDoomed } from '../purge.ts';
import { unlinkBlob } from '../removal.ts';
import { removeNextBatch } from '../repository-removal.ts';
import type { Engine } from '../settings.ts';

// Garbage collection, concurrent with pushes and pulls. No lock is wider than one row.
// - A link is deleted when no image of its repository needs it and no client was told of it within the delay. A push holds the links of its
//   manifest (FOR SHARE), the collector locks one link (FOR UPDATE), and the second of the two sees the result of the first. A purge does
//   not wait for the delay: it deletes the link and leaves a promise.
// - A blob is deleted when no repository links it and no promise is left. A push that links a blob holds its row (FOR SHARE). The collector
//   skips a locked blob. Otherwise it marks the blob dying and then deletes the object. A dying blob is invisible: the same content pushed
//   again is a new row and object.
// - A removed repository is deleted in batches between the other steps (engine/repository-removal.ts).
// After a crash the queue entry is still there, and the next run continues. Every step may run twice.

/** Queue entries reviewed after each purge batch. A purge of very many images may take minutes and must not delay other tenants' space. */
const reviewsPerRound = 20;

/**
 * Processes due queue entries, purge batches and removed repositories in turns. Returns the number of entries; a batch of a removed
 * repository counts as one. Work that fails is left for the next run and stops no other organization.
 */
export async function collect(engine: Engine, signal: AbortSignal, log: Logger, maxEntries = Number.POSITIVE_INFINITY): Promise<number> {
  const { db, caches } = engine.app;
  let worked = 0;
  let lastOrg: string | null = null;
  let lastReviewed: string | null = null;
  let lastRemoved: string | null | undefined = null;
  const failedPurges: string[] = [];
  const failedRemovals: number[] = [];
  const removeAfter = (org: string | null) => () => removeNextBatch(db, org, failedRemovals);
  while (worked < maxEntries && !signal.aborted) {
    const purged: Awaited<ReturnType<typeof purgeDoomed>> = await runAtQuarterLoad(signal, () =>
      purgeDoomed(db, caches, lastOrg, failedPurges),
    );
    if (purged?.error !== undefined) {
      failedPurges.push(purged.org);
      warnHourly(log, `purge ${purged.org}`, { err: purged.error, org: purged.org }, 'deleted images could not be purged');
    }
    const removed: Awaited<ReturnType<typeof removeNextBatch>> =
      lastRemoved === undefined ? undefined : await runAtQuarterLoad(signal, removeAfter(lastRemoved));
    if (removed?.failure) {
      const { repository, error } = removed.failure;
      failedRemovals.push(repository.id);
      const about = { err: error, org: removed.org, repository: repository.id };
      warnHourly(log, `removal ${repository.id}`, about, 'a batch of a removed repository could not be deleted');
    }
    const orgs: string[] = await db.read((tx) => orgsWithDue(tx, lastReviewed, reviewsPerRound));
    const reviewed = await runAtQuarterLoad(signal, () =>
      reviewBatch(engine, signal, log, orgs, Math.min(reviewsPerRound, maxEntries - worked)),
    );
    if (!purged && !removed && reviewed.count === 0) break;
    worked += (purged?.looked ?? 0) + (removed ? 1 : 0) + reviewed.count;
    lastOrg = purged?.org ?? null;
    lastRemoved = removed?.org; // undefined: none is left for this run
    lastReviewed = reviewed.last;
  }
  return worked;
}

/** Failures that the log has named within the hour: every run, twice a minute, tries them again. */
const logged = new LRUCache<string, true>({ max: 1_000, ttl: 3_600_000 });

function warnHourly(log: Logger, key: string, about: object, sentence: string) {
  if (logged.has(key)) return;
  logged.set(key, true);
  log.warn(about, `${sentence}; trying again at every run, and logged once an hour`);
}

/** Reviews entries of these organizations, round-robin, up to `maxEntries`. Returns the number and the last organization. */
async function reviewBatch(engine: Engine, signal: AbortSignal, log: Logger, orgs: readonly string[], maxEntries: number) {
  let count = 0;
  let last: string | null = null;
  const waiting = [...orgs];
  for (let org = waiting.shift(); org !== undefined && count < maxEntries && !signal.aborted; org = waiting.shift()) {
    const step = await reviewNext(engine, org, log);
    if (!step) continue;
    waiting.push(org);
    count++;
    last = org;
    if (step.remove) await removeObject(engine, step.entry, step.remove, log);
  }
  return { count, last };
}

interface ReviewStep {
  entry: QueuedRow;
  /** The object of a blob that was just marked dying. */
  remove?: { id: number; key: string };
}

/** An entry that cannot be reviewed comes back later. */
async function reviewNext(engine: Engine, org: string, log: Logger): Promise<ReviewStep | undefined> {
  const { db } = engine.app;
  let entry: QueuedRow | undefined;
  try {
    return await db.write(async (tx) => {
      entry = await nextDue(tx, org);
      if (!entry) return undefined;
      return entry.kind === 'link' ? reviewLink(tx, engine, entry) : reviewBlob(tx, entry);
    });
  } catch (error) {
    if (!entry) throw error; // the database is away
    const failed = entry;
    warnHourly(log, `review ${failed.kind} ${failed.ref}`, { err: error, org, ...failed }, 'content could not be reviewed');
    await db.write((tx) => backOff(tx, failed));
    return { entry: failed };
  }
}

async function reviewLink(tx: Tx, { app, settings }: Engine, entry: QueuedRow): Promise<ReviewStep> {
  const [repositoryId, blobId] = entry.ref.split('/').map(Number) as [number, number];
  const link = await lockLink(tx, repositoryId, blobId, settings.gcDelaySeconds);
  if (!link || (await isReferenced(tx, repositoryId, link.digest))) await dequeue(tx, entry);
  else if (!link.due && entry.grace_seconds === null) await postpone(tx, entry, link.due_at);
  else {
    await dequeue(tx, entry);
    // Pushes do not rely on links that only the cache has, so these need no promise.
    if (!link.due && !link.cached) await promiseBlob(tx, link, link.due_at);
    await unlinkBlob(tx, app.caches, link);
  }
  return { entry };
}

async function reviewBlob(tx: Tx, entry: QueuedRow): Promise<ReviewStep> {
  const blob = await lockBlob(tx, Number(entry.ref));
  if (blob === 'in use') {
    await postponeBusy(tx, entry);
    return { entry };
  }
  const promised = blob?.state === 'live' ? await promisedUntil(tx, blob.id) : undefined;
  if (promised) {
    await postpone(tx, entry, promised);
    return { entry };
  }
  if (!blob || (blob.linked && blob.state === 'live')) {
    await dequeue(tx, entry);
    return { entry };
  }
  await markDying(tx, blob.id);
  // The entry comes back if this process ends before the object is deleted.
  await backOff(tx, entry);
  return { entry, remove: { id: blob.id, key: blob.storage_key } };
}

async function removeObject({ app }: Engine, entry: QueuedRow, { id, key }: { id: number; key: string }, log: Logger) {
  try {
    await app.db.write(async (tx) => {
      if (!(await mayRemoveStored(tx))) return; // a running backup may be about to copy it; the entry comes back
      await app.storage.remove(key);
      await dequeue(tx, entry); // before the blob's row: the same lock order as a review
      await deleteDying(tx, id);
    });
  } catch (error) {
    log.warn({ err: error, key }, 'a deleted blob could not be removed from the storage; trying again later');
  }
}
