import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { RegistryError } from '../../rules/errors.ts';
import { algorithmOf } from '../../rules/names.ts';
import { type BlobRow, insertBlob, linkBlob, linkedElsewhere, nextBlobId, shareBlob } from '../../store/blobs.ts';
import { fulfilPromise } from '../../store/promises.ts';
import { enqueueReview, linkRef } from '../../store/queue.ts';
import { shareRepository } from '../../store/removed-repositories.ts';
import { deleteUpload } from '../../store/uploads.ts';
import type { CheckPermission } from '../credentials/index.ts';
import { fillEvictsUnusedForSeconds, withEviction } from '../gc/evict.ts';
import { bookBytes, OverQuota } from '../quota.ts';
import type { Engine, RegistrySettings } from '../settings.ts';
import { retryWhileUnavailable } from './database-retry.ts';
import type { Hashes } from './hashes.ts';

// How an upload becomes a blob, and what a crash leaves:
//   while bytes arrive          an upload that can be continued, or expires with its reservation
//   after storage.commit        an object without a row; the scrub removes it a day later, and the client pushes again
//   after the transaction       a linked blob; the client learns of it by HEAD
// A refused commit deletes its object. If the outcome is unknown, the object stays for the scrub.
// 201 is sent only after the object is durable and the transaction has committed.

/** `sha256/ab/<hex>.<row id>`: a copy being deleted and a new copy never share a key. */
const storageKey = (digest: string, id: number) => {
  const hex = digest.slice(digest.indexOf(':') + 1);
  return `${algorithmOf(digest)}/${hex.slice(0, 2)}/${hex}.${id}`;
};

type RepositoryRef = { id: number; registry_id: string };

/**
 * Links a blob into a repository and books its bytes. The caller holds the blob's row; the registry's row is locked last. `uploadId`:
 * deletes the upload's row and releases its reservation.
 */
export async function linkInto(
  tx: Tx,
  { gcDelaySeconds }: RegistrySettings,
  { id, registry_id }: RepositoryRef,
  blob: BlobRow,
  { uploadId, cached = false }: { uploadId?: string; cached?: boolean } = {},
): Promise<void> {
  const [, taken, fresh] = await Promise.all([
    shareRepository(tx, id),
    uploadId === undefined ? undefined : deleteUpload(tx, uploadId),
    linkBlob(tx, id, registry_id, blob.id, cached),
    // A link that only the cache has may be evicted at any time. Then the promise is all that is left, so it stays.
    cached ? undefined : fulfilPromise(tx, id, blob.id),
  ]);
  const reserved = taken?.reserved ?? 0;
  if (!fresh && reserved === 0) return;
  await Promise.all([
    // Reviewed after the delay: the image that needs the blob may never come.
    fresh && enqueueReview(tx, registry_id, 'link', [linkRef(id, blob.id)], gcDelaySeconds),
    bookBytes(tx, registry_id, {
      size: fresh ? blob.size : 0,
      sign: 1,
      reserved,
      elsewhere: () => linkedElsewhere(tx, registry_id, id, blob.id),
    }),
  ]);
}

export interface FinishedUpload {
  /** Of the storage, and of the upload's row when there is one. */
  uploadId: string;
  digest: string;
  size: number;
}

/** Errors after which the transaction has certainly not committed. */
const isRefusal = (error: unknown) =>
  error instanceof OverQuota ||
  error instanceof RegistryError ||
  error instanceof Refusal ||
  (error as { code?: unknown } | undefined)?.code === '23503';

/** An upload being committed as a blob. */
interface BlobCommit extends FinishedUpload {
  app: App;
  /** Runs a transaction, retries while the database is unavailable, and evicts cached images when the quota is full. */
  retryWithEviction<T>(work: () => Promise<T>): Promise<T>;
  /** Deletes the upload's row and links the blob. */
  linkInPlaceOfUpload(tx: Tx, blob: BlobRow): Promise<void>;
  /** Called first in each transaction. */
  allow: CheckPermission | undefined;
}

interface CommitOptions {
  cached?: boolean;
  held?: boolean;
  mayWrite?: (() => Promise<void>) | undefined;
  allow?: CheckPermission;
}

/**
 * Turns a finished upload into a blob of the repository and evicts cached images if the quota is full.
 * `cached`: an upstream sent it, so only unused images are evicted.
 * `held`: the registry already had this content, so the bytes were hashed and not stored.
 * `mayWrite`: called before and after the object is committed, because another process may have taken over the upload.
 * `allow`: checks that the credential still has the right.
 */
export async function commitBlob(
  { app, settings }: Engine,
  hashes: Hashes,
  repository: RepositoryRef,
  finished: FinishedUpload,
  { cached = false, held = false, mayWrite, allow }: CommitOptions = {},
): Promise<void> {
  const { uploadId, digest, size } = finished;
  const seen = hashes.digest(uploadId, algorithmOf(digest), size);
  if (seen !== undefined && seen !== digest)
    throw new RegistryError('DIGEST_INVALID', `the content has the digest ${seen}, not ${digest}; send it again`);

  const commit: BlobCommit = {
    ...finished,
    app,
    retryWithEviction: (work) =>
      withEviction(app, repository.registry_id, () => retryWhileUnavailable(work), cached ? fillEvictsUnusedForSeconds : 0),
    linkInPlaceOfUpload: (tx, blob) => linkInto(tx, settings, repository, blob, { uploadId, cached }),
    allow,
  };
  // Existing content needs no second copy. It is linked only if this process hashed the bytes itself, which proves that the client has
  // them.
  const fresh = seen === undefined ? undefined : await linkKnown(commit);
  if (fresh === 'linked') {
    hashes.forget(uploadId);
    await app.storage
      .abort(uploadId)
      .catch((error) => app.log.warn({ err: error, uploadId }, 'an upload could not be thrown away; the sweep will'));
    return;
  }
  if (held) throw contentBeingDeleted();
  const id = fresh ?? (await retryWhileUnavailable(() => app.db.read(nextBlobId)));
  const key = storageKey(digest, id);
  // With the hashed size: bytes that a parallel request appended since then must not be stored under the digest.
  await mayWrite?.();
  await app.storage.commit(uploadId, key, seen === undefined ? { digest, size } : { size });
  hashes.forget(uploadId);
  await mayWrite?.().catch(async (error) => {
    await removeObject(app, key, 'content that another process may have changed');
    throw error;
  });
  await insertNewBlob(commit, id, key);
}

/** The content existed when the push began, so no copy was kept, but it is being deleted now. */
const contentBeingDeleted = () =>
  new RegistryError('UNAVAILABLE', 'the same content is just being deleted; push it again', { retryAfterSeconds: 1 });

/** Links existing content, or returns the id for a new blob, in one round trip. */
const linkKnown = ({ app, digest, retryWithEviction, linkInPlaceOfUpload, allow }: BlobCommit): Promise<'linked' | number> =>
  retryWithEviction(() =>
    app.db.write(async (tx) => {
      const [, blob, id] = await Promise.all([allow?.(tx), shareBlob(tx, digest), nextBlobId(tx)]);
      if (!blob) return id;
      await linkInPlaceOfUpload(tx, blob);
      return 'linked';
    }),
  );

const removeObject = ({ storage, log }: App, key: string, why: string) =>
  storage.remove(key).catch((error) => log.warn({ err: error, key }, `${why} could not be removed; the scrub will`));

/** Inserts the row of a durable object. An object without use is deleted again. */
async function insertNewBlob(
  { app, digest, size, retryWithEviction, linkInPlaceOfUpload, allow }: BlobCommit,
  id: number,
  key: string,
): Promise<void> {
  const remove = (why: string) => removeObject(app, key, why);
  // Once the outcome of an attempt is unknown, the row may exist and need its object, whatever the next attempt returns.
  let isOutcomeUnknown = false;
  const insert = () =>
    app.db
      .write(async (tx) => {
        const [, mine] = await Promise.all([allow?.(tx), insertBlob(tx, { id, digest, size, storage_key: key })]);
        const blob = mine ?? (await shareBlob(tx, digest));
        // Another copy won and is being deleted now: neither exists, and the client must push again.
        if (!blob) throw contentBeingDeleted();
        await linkInPlaceOfUpload(tx, blob);
        // Also true when an earlier attempt committed and only its answer was lost.
        return blob.id === id;
      })
      .catch((error) => {
        isOutcomeUnknown ||= !isRefusal(error);
        throw error;
      });
  const isOurs = await retryWithEviction(insert).catch(async (error) => {
    if (!isOutcomeUnknown) await remove('content that was refused');
    throw error;
  });
  if (!isOurs) await remove('a second copy');
}
