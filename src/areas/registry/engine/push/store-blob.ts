import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { RegistryError } from '../../rules/errors.ts';
import { algorithmOf } from '../../rules/names.ts';
import { type BlobRow, insertBlob, linkBlob, linkedElsewhere, nextBlobId, shareBlob } from '../../store/blobs.ts';
import { fulfilPromise } from '../../store/promises.ts';
import { linkRef, review } from '../../store/queue.ts';
import { shareRepository } from '../../store/removed-repositories.ts';
import { takeUpload } from '../../store/uploads.ts';
import type { Allow } from '../credentials/index.ts';
import { settledSeconds, withRoom } from '../gc/evict.ts';
import { bookBytes, OverQuota } from '../quota.ts';
import type { Engine, RegistrySettings } from '../settings.ts';
import type { Hashes } from './hashes.ts';
import { patiently } from './patience.ts';

// How bytes become a blob. Where a crash can hit, and what it leaves:
//   while bytes arrive          an upload that can be continued, or expires with its reservation
//   after storage.commit        an object without a row: the scrub removes it a day later; the client, unanswered, pushes again
//   (one that is refused takes its object along; one whose outcome nobody knows leaves it)
//   after the transaction       the blob is there and linked; the client, unanswered, is told so by HEAD
// Nothing is answered 201 before both the object is durable and the transaction has committed.

/** `sha256/ab/<hex>.<row id>`: an old copy that is being deleted and a new one never share a key. */
const storageKey = (digest: string, id: number) => {
  const hex = digest.slice(digest.indexOf(':') + 1);
  return `${algorithmOf(digest)}/${hex.slice(0, 2)}/${hex}.${id}`;
};

type Into = { id: number; registry_id: string };

/** Links a blob, whose row is shared, into a repository, and books it. Registry row last. `uploadId`: takes the upload's row, and what it had reserved. */
export async function linkInto(
  tx: Tx,
  { gcDelaySeconds }: RegistrySettings,
  { id, registry_id }: Into,
  blob: BlobRow,
  { uploadId, cached = false }: { uploadId?: string; cached?: boolean } = {},
): Promise<void> {
  const [, taken, fresh] = await Promise.all([
    shareRepository(tx, id),
    uploadId === undefined ? undefined : takeUpload(tx, uploadId),
    linkBlob(tx, id, registry_id, blob.id, cached),
    // What only the cache links makes room without asking, and then the promise is all there is.
    cached ? undefined : fulfilPromise(tx, id, blob.id),
  ]);
  const reserved = taken?.reserved ?? 0;
  if (!fresh && reserved === 0) return;
  await Promise.all([
    // Until an image needs it, it may have been pushed in vain.
    fresh && review(tx, registry_id, 'link', [linkRef(id, blob.id)], gcDelaySeconds),
    bookBytes(tx, registry_id, {
      size: fresh ? blob.size : 0,
      sign: 1,
      reserved,
      elsewhere: () => linkedElsewhere(tx, registry_id, id, blob.id),
    }),
  ]);
}

export interface Finished {
  /** Of the storage, and of the upload's row when there is one. */
  uploadId: string;
  digest: string;
  size: number;
}

/** An answer of the database or of ours after which a transaction has surely not happened. */
const isRefusal = (error: unknown) =>
  error instanceof OverQuota ||
  error instanceof RegistryError ||
  error instanceof Refusal ||
  (error as { code?: unknown } | undefined)?.code === '23503';

/** One upload on its way to being a blob. */
interface Commit extends Finished {
  app: App;
  /** Runs a transaction's work while the database may be away for a moment, and has cached images make room for it. */
  fitting<T>(work: () => Promise<T>): Promise<T>;
  /** Takes the upload's row and links the blob in its place. */
  linkTaken(tx: Tx, blob: BlobRow): Promise<void>;
  /** Begins each transaction. */
  allow: Allow | undefined;
}

interface CommitOptions {
  cached?: boolean;
  held?: boolean;
  mayWrite?: (() => Promise<void>) | undefined;
  allow?: Allow;
}

/** Turns a finished upload into a blob of the repository, and cached images make room for it. `cached`: an upstream sent it, so it
 *  replaces only those that nobody uses. `held`: the registry had this content already, so its bytes were hashed and not stored.
 *  `mayWrite`: asked before and after the bytes are put in their place, for until then another process may have changed them.
 *  `allow`: whether the credential that brought them still may. */
export async function commitBlob(
  { app, settings }: Engine,
  hashes: Hashes,
  repository: Into,
  finished: Finished,
  { cached = false, held = false, mayWrite, allow }: CommitOptions = {},
): Promise<void> {
  const { uploadId, digest, size } = finished;
  const seen = hashes.digest(uploadId, algorithmOf(digest), size);
  if (seen !== undefined && seen !== digest)
    throw new RegistryError('DIGEST_INVALID', `the content has the digest ${seen}, not ${digest}; send it again`);

  const commit: Commit = {
    ...finished,
    app,
    fitting: (work) => withRoom(app, repository.registry_id, () => patiently(work), cached ? settledSeconds : 0),
    linkTaken: (tx, blob) => linkInto(tx, settings, repository, blob, { uploadId, cached }),
    allow,
  };
  // Known content needs no second copy. Only a content whose hash we saw ourselves counts as shown to us.
  const fresh = seen === undefined ? undefined : await linkKnown(commit);
  if (fresh === 'linked') {
    hashes.forget(uploadId);
    await app.storage
      .abort(uploadId)
      .catch((error) => app.log.warn({ err: error, uploadId }, 'an upload could not be thrown away; the sweep will'));
    return;
  }
  if (held) throw goneAgain();
  const id = fresh ?? (await patiently(() => app.db.read(nextBlobId)));
  const key = storageKey(digest, id);
  // By its size: what a request in parallel appended since was not hashed, and must not come under the digest.
  await mayWrite?.();
  await app.storage.commit(uploadId, key, seen === undefined ? { digest, size } : { size });
  hashes.forget(uploadId);
  await mayWrite?.().catch(async (error) => {
    await removeObject(app, key, 'content that another process may have changed');
    throw error;
  });
  await insertOwn(commit, id, key);
}

/** What was here when its push began, so that no copy was kept of it, is being deleted by now. */
const goneAgain = () => new RegistryError('UNAVAILABLE', 'the same content is just being deleted; push it again', { retrySeconds: 1 });

/** Links content that somebody has brought before; else gives the id for a new blob, asked for in the same breath. */
const linkKnown = ({ app, digest, fitting, linkTaken, allow }: Commit): Promise<'linked' | number> =>
  fitting(() =>
    app.db.write(async (tx) => {
      const [, blob, id] = await Promise.all([allow?.(tx), shareBlob(tx, digest), nextBlobId(tx)]);
      if (!blob) return id;
      await linkTaken(tx, blob);
      return 'linked';
    }),
  );

const removeObject = ({ storage, log }: App, key: string, why: string) =>
  storage.remove(key).catch((error) => log.warn({ err: error, key }, `${why} could not be removed; the scrub will`));

/** The row of an object that is durable by now. An object that nobody needs is removed again. */
async function insertOwn({ app, digest, size, fitting, linkTaken, allow }: Commit, id: number, key: string): Promise<void> {
  const remove = (why: string) => removeObject(app, key, why);
  // Once the outcome of one attempt is unknown, the row may be there and need its object, whatever the next attempt says.
  let unsure = false;
  const insert = () =>
    app.db
      .write(async (tx) => {
        const [, mine] = await Promise.all([allow?.(tx), insertBlob(tx, { id, digest, size, storage_key: key })]);
        const blob = mine ?? (await shareBlob(tx, digest));
        // Lost to another copy that is being deleted by now: neither is there, and the client has to send it again.
        if (!blob) throw goneAgain();
        await linkTaken(tx, blob);
        // Also ours when an earlier attempt went through and only its answer was lost.
        return blob.id === id;
      })
      .catch((error) => {
        unsure ||= !isRefusal(error);
        throw error;
      });
  const won = await fitting(insert).catch(async (error) => {
    if (!unsure) await remove('content that was refused');
    throw error;
  });
  if (!won) await remove('a second copy');
}
