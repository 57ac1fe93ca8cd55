import { mayRemoveStored } from '../../../../kernel/backup/backup-lock.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { runAtQuarterLoad } from '../../../../kernel/yielding.ts';
import { isReferenced, lockLink } from '../../store/blobs.ts';
import { deleteDying, lockBlob, markDying } from '../../store/collect.ts';
import { promiseBlob, promisedUntil } from '../../store/promises.ts';
import { backOff, dequeue, lookLater, nextDue, orgsWithDue, postpone, type QueuedRow } from '../../store/queue.ts';
import { purgeDoomed } from '../purge.ts';
import { unlinkBlob } from '../removal.ts';
import { removeRest } from '../repository-removal.ts';
import type { Engine } from '../settings.ts';

// Garbage collection while everybody pushes and pulls. No lock is wider than one row:
//   a link    goes when no image of its repository needs it and nobody was told of it lately. Whoever stores a manifest holds the
//             links it needs (FOR SHARE), we lock the one we look at (FOR UPDATE), and whoever comes second sees the other's work.
//             A purge does not wait for those who were told of it lately: the link goes, and a promise stays in its place.
//   a blob    goes when no repository links it and nobody has a promise of it. Whoever links it holds the row (FOR SHARE); we lock
//             it, unless somebody has it, mark it dying, and only then delete its object. A dying blob is not found any more: the same content pushed again is a new row and object.
//   a removed repository goes in portions between the others (engine/repository-removal.ts).
// A crash leaves the queue's entry, and the next run goes on from there: every step may be done twice.

/** After each portion of a purge so many entries of the queue have their turn: a purge of very many images, which may take minutes, keeps
 *  nobody else from getting their room back. */
const reviewedBetween = 20;

/** Works off what is due, and what purges and removals of repositories have left, in turns. Returns how many entries that were; a portion of
 *  a removed repository counts as one. */
export async function collect(engine: Engine, signal: AbortSignal, log: Logger, most = Number.POSITIVE_INFINITY): Promise<number> {
  const { db, caches } = engine.app;
  let worked = 0;
  let lastOrg: string | null = null;
  let lastReviewed: string | null = null;
  let lastRemoved: string | null | undefined = null;
  while (worked < most && !signal.aborted) {
    const purged: Awaited<ReturnType<typeof purgeDoomed>> = await runAtQuarterLoad(signal, () =>
      db.write((tx) => purgeDoomed(tx, caches, lastOrg)),
    );
    if (lastRemoved !== undefined) {
      const removing: string | null = lastRemoved;
      lastRemoved = await runAtQuarterLoad(signal, () => db.write((tx) => removeRest(tx, removing))).catch((error) => {
        log.warn({ err: error }, 'a portion of a removed repository could not be deleted; trying again later');
        return undefined;
      });
    }
    const removed = lastRemoved === undefined ? 0 : 1;
    const orgs: string[] = await db.read((tx) => orgsWithDue(tx, lastReviewed, reviewedBetween));
    const reviewed = await runAtQuarterLoad(signal, () => reviewSome(engine, signal, log, orgs, Math.min(reviewedBetween, most - worked)));
    if (!purged && removed + reviewed.count === 0) break;
    worked += (purged?.looked ?? 0) + removed + reviewed.count;
    lastOrg = purged?.org ?? null;
    lastReviewed = reviewed.last;
  }
  return worked;
}

/** One of each of these organizations in turn, as long as they have any. How many there were, up to `most`, and whose the last was. */
async function reviewSome(engine: Engine, signal: AbortSignal, log: Logger, orgs: readonly string[], most: number) {
  let count = 0;
  let last: string | null = null;
  const waiting = [...orgs];
  for (let org = waiting.shift(); org !== undefined && count < most && !signal.aborted; org = waiting.shift()) {
    const whose = org;
    const step = await engine.app.db.write((tx) => reviewNext(tx, engine, whose));
    if (!step) continue;
    waiting.push(org);
    count++;
    last = org;
    if (step.remove) await removeObject(engine, step.entry, step.remove, log);
  }
  return { count, last };
}

interface Step {
  entry: QueuedRow;
  /** The object of a blob that is dying now. */
  remove?: { id: number; key: string };
}

async function reviewNext(tx: Tx, engine: Engine, org: string): Promise<Step | undefined> {
  const entry = await nextDue(tx, org);
  if (!entry) return undefined;
  return entry.kind === 'link' ? reviewLink(tx, engine, entry) : reviewBlob(tx, entry);
}

async function reviewLink(tx: Tx, { app, settings }: Engine, entry: QueuedRow): Promise<Step> {
  const [repositoryId, blobId] = entry.ref.split('/').map(Number) as [number, number];
  const link = await lockLink(tx, repositoryId, blobId, settings.gcDelaySeconds);
  if (!link || (await isReferenced(tx, repositoryId, link.digest))) await dequeue(tx, entry);
  else if (!link.due && entry.grace_seconds === null) await postpone(tx, entry, link.due_at);
  else {
    await dequeue(tx, entry);
    // Nobody pushes on what only the cache has.
    if (!link.due && !link.cached) await promiseBlob(tx, link, link.due_at);
    await unlinkBlob(tx, app.caches, link);
  }
  return { entry };
}

async function reviewBlob(tx: Tx, entry: QueuedRow): Promise<Step> {
  const blob = await lockBlob(tx, Number(entry.ref));
  if (blob === 'in use') {
    await lookLater(tx, entry);
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
  // Comes back by itself should this process end before the object is gone.
  await backOff(tx, entry);
  return { entry, remove: { id: blob.id, key: blob.storage_key } };
}

async function removeObject({ app }: Engine, entry: QueuedRow, { id, key }: { id: number; key: string }, log: Logger) {
  try {
    await app.db.write(async (tx) => {
      if (!(await mayRemoveStored(tx))) return; // a backup may be about to copy it; the entry comes back
      await app.storage.remove(key);
      await dequeue(tx, entry); // first, as whoever reviews it has it
      await deleteDying(tx, id);
    });
  } catch (error) {
    log.warn({ err: error, key }, 'a deleted blob could not be removed from the storage; trying again later');
  }
}
