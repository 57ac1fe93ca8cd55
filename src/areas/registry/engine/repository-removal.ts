import type { Caches } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { wake } from '../../../kernel/jobs/index.ts';
import { topics } from '../rules/topics.ts';
import { collectTask, review } from '../store/queue.ts';
import { changeFigures, lockQuota } from '../store/quota.ts';
import * as store from '../store/removed-repositories.ts';
import { bookGone, type GoneManifest } from './quota.ts';

// How a whole repository goes, however much it holds. The request's transaction takes it out of its registry, so that no name, list or push
// finds it, and removes the first portion. Garbage collection removes the others, one a transaction, and the row last. A crash leaves the
// row with what is left; the next run of garbage collection goes on with it.

/** One transaction removes so many rows, and manifests that weigh so much together. */
export const portion = { rows: 500, manifestBytes: 4 * 1024 * 1024 };

/** A whole repository: manifests, tags, uploads and links. False: it is not there. */
export async function removeRepository(tx: Tx, caches: Caches, registryId: string, name: string): Promise<boolean> {
  const repository = await store.detachRepository(tx, registryId, name);
  if (!repository) return false;
  await caches.drop(tx, topics.repository(repository.id));
  if (!(await removePortion(tx, repository))) wake(tx, collectTask);
  return true;
}

/** Goes on with a removed repository of the organization that comes after this one. Returns whose that was; undefined: none is left. */
export async function removeRest(tx: Tx, afterOrg: string | null): Promise<string | undefined> {
  const repository = await store.lockRemoved(tx, afterOrg);
  if (repository) await removePortion(tx, repository);
  return repository?.org_id;
}

/** True when the repository is gone with its row. Nobody stores anything in it any more: shareRepository keeps them out. */
async function removePortion(tx: Tx, { id, removed_from: registryId }: store.RemovedRow): Promise<boolean> {
  let room = portion.rows;
  const some = async <T extends { length: number }>(remove: (tx: Tx, id: number, limit: number) => Promise<T>, none: T): Promise<T> => {
    if (room === 0) return none;
    const removed = await remove(tx, id, room);
    room -= removed.length;
    return removed;
  };
  const uploads = await some(store.deleteUploads, []);
  for (const remove of store.notes) await some(async (...of) => ({ length: await remove(...of) }), { length: 0 });
  let isCut = false;
  const manifests = await some<GoneManifest[]>(async (_tx, _id, most) => {
    const { gone, ...rest } = await store.deleteManifests(tx, id, { most, mostBytes: portion.manifestBytes });
    isCut = rest.isCut;
    return gone;
  }, []);
  const blobs = await some(store.deleteLinks, []);
  // What was only promised goes as well: its entry in the queue waits for the end of a promise that nobody can redeem any more.
  const promised = await some(store.deletePromises, []);
  const isDone = room > 0 && !isCut;
  if (isDone) await store.deleteRepository(tx, id);
  await review(tx, registryId, 'blob', [...new Set([...blobs, ...promised])].map(String), 0);
  await bookGone(tx, registryId, manifests);
  await bookUnlinked(tx, registryId, { blobs, reserved: uploads.reduce((sum, upload) => sum + upload.reserved, 0) });
  return isDone;
}

/** Takes off the bytes of blobs whose links this transaction took, as far as the registry has no other, and what uploads had reserved. */
async function bookUnlinked(tx: Tx, registryId: string, { blobs, reserved }: { blobs: number[]; reserved: number }) {
  if ((blobs.length === 0 && reserved === 0) || !(await lockQuota(tx, registryId))) return;
  await changeFigures(tx, registryId, { used: -(await store.unlinkedBytes(tx, registryId, blobs)), reserved });
}
