import type { Tx } from '../../../../kernel/db/index.ts';
import { UploadUnknown } from '../../../../kernel/storage/index.ts';
import { RegistryError } from '../../rules/errors.ts';
import type { Algorithm } from '../../rules/names.ts';
import { otherSpelling } from '../../rules/upstreams.ts';
import { holdersOf, linkedBlob, shareBlob } from '../../store/blobs.ts';
import { type Quota, quotaOf } from '../../store/quota.ts';
import { ensureRepository, type RepositoryRow, repositoryByName } from '../../store/repositories.ts';
import {
  addReservation,
  deleteUpload,
  endUpload,
  extendUpload,
  insertUpload,
  maxExtensionIntervalSeconds,
  maxOpenUploadsPerRegistry,
  minReservationBytes,
  type UploadRow,
} from '../../store/uploads.ts';
import type { CheckPermission } from '../credentials/index.ts';
import { withEviction } from '../gc/evict.ts';
import { freeBytes, OverQuota, releaseBytes, reserveBytes } from '../quota.ts';
import type { Engine } from '../settings.ts';
import { retryWhileBusy, retryWhileUnavailable } from './database-retry.ts';
import type { Hashes } from './hashes.ts';
import { linkInto } from './store-blob.ts';

/** Creates the repository if needed. Undefined: the registry is gone. */
export const ensureRepositoryForPush = ({ app }: Engine, registryId: string, name: string, allow: CheckPermission) =>
  retryWhileUnavailable(() => app.db.write(async (tx) => (await Promise.all([allow(tx), ensureRepository(tx, { registryId, name })]))[1]));

interface UploadStart {
  org: string;
  keyId: string;
  node: string;
  algorithm: Algorithm;
  /** The registry already has this content, so no quota is needed. */
  isHeld: boolean;
}

export async function beginUpload(
  { app, settings }: Engine,
  hashes: Hashes,
  repository: RepositoryRow,
  { org, keyId, node, algorithm, isHeld }: UploadStart,
): Promise<UploadRow> {
  const id = await app.storage.createUpload();
  const made = { id, org, repositoryId: repository.id, node, keyId, ttlSeconds: settings.uploadSeconds };
  const begun = await retryWhileBusy(() => app.db.read((tx) => insertUpload(tx, made, isHeld ? 0 : minReservationBytes)));
  if (!begun || begun.reserved === null) {
    await app.storage.abort(id);
    throw begun ? uploadRefusal(begun) : new UploadUnknown();
  }
  hashes.begin(id, algorithm);
  return { id, repository_id: repository.id, registry_id: repository.registry_id, node, reserved: begun.reserved };
}

const uploadRefusal = (figures: Quota & { open: number }) =>
  figures.open >= maxOpenUploadsPerRegistry
    ? new RegistryError(
        'TOOMANYREQUESTS',
        `the registry has ${maxOpenUploadsPerRegistry} uploads that are not finished; finish or cancel some, or wait until they expire`,
        { retryAfterSeconds: 60 },
      )
    : new OverQuota(figures, minReservationBytes);

/**
 * Cancels an upload for a client. It cannot be continued after the commit. After a crash, or while another request still writes to it, its
 * bytes are left to the task that deletes expired uploads.
 */
export async function abandonUpload(engine: Engine, hashes: Hashes, upload: UploadRow, allow: CheckPermission): Promise<void> {
  const isWritten = await engine.app.db.write(async (tx) => {
    await allow(tx);
    return endUpload(tx, upload.id);
  });
  if (!isWritten) await discardUpload(engine, hashes, upload);
}

/** Deletes the bytes, then the row and its reservation. */
export async function discardUpload({ app }: Engine, hashes: Hashes, upload: UploadRow): Promise<void> {
  hashes.forget(upload.id);
  await app.storage.abort(upload.id);
  await app.db.write(async (tx) => {
    const gone = await deleteUpload(tx, upload.id);
    if (gone) await releaseBytes(tx, upload.registry_id, gone.reserved);
  });
}

/**
 * Throws OverQuota before the client sends a byte: `announced` bytes must fit, or the minimum for an upload. Undefined: the registry is
 * gone.
 */
export const requireQuota = ({ app }: Engine, registryId: string, announced: number): Promise<Quota | undefined> =>
  withEviction(app, registryId, async () => {
    const needed = Math.max(minReservationBytes, announced);
    const quota = await retryWhileUnavailable(() => app.db.read((tx) => quotaOf(tx, registryId)));
    if (quota && freeBytes(quota) < needed) throw new OverQuota(quota, needed);
    return quota;
  });

const MiB = 1024 * 1024;
/** A client that does not announce a length gets quota in steps, each as large as the bytes sent so far, within these limits. */
const reservationStepBytes = { min: MiB, max: 64 * MiB };

/** The body of an upload request. */
export interface IncomingBody {
  body: AsyncIterable<Buffer>;
  offset: number;
  /** The announced length, if any. */
  declared: number | undefined;
  /** The size of this content in the registry, if it has it. Only for a body that is the whole content. */
  heldBytes?: number | undefined;
  /** Called before bytes are written. */
  mayWrite?: (() => Promise<void>) | undefined;
}

/**
 * Appends a body to an upload, hashing and reserving quota as the bytes arrive: every byte is reserved before it is written. Content that
 * the registry already has is only hashed. Returns the new offset.
 */
export async function receiveBytes(engine: Engine, hashes: Hashes, upload: UploadRow, incoming: IncomingBody): Promise<number> {
  const { app, settings } = engine;
  const { body, offset, declared, heldBytes, mayWrite } = incoming;
  const { uploadSeconds } = settings;
  const keepMs = Math.min(maxExtensionIntervalSeconds, uploadSeconds / 3) * 1000;
  let kept = performance.now();
  // The upload expired, was cancelled or ended with its repository. No client can continue it, and its reservation would never be released.
  const keep = async (tx: Tx) => {
    if (!(await extendUpload(tx, upload.id, uploadSeconds))) throw new UploadUnknown();
    kept = performance.now();
  };
  // Extends the upload during a long request; otherwise another server would expire it.
  const keepAlive = async () => {
    if (performance.now() - kept > keepMs) await retryWhileUnavailable(() => app.db.read(keep));
  };
  if (heldBytes !== undefined) return hashHeld(hashes.through(upload.id, offset, body), heldBytes, keepAlive);

  const end = offset + (declared ?? 0);
  if (end > upload.reserved) await reserveMore(engine, upload, keep, end - upload.reserved, end - upload.reserved);
  async function* metered(): AsyncGenerator<Buffer> {
    let at = offset;
    for await (const chunk of body) {
      at += chunk.length;
      const missing = at - upload.reserved;
      if (missing > 0)
        await reserveMore(
          engine,
          upload,
          keep,
          missing,
          Math.max(missing, reservationStepBytes.min, Math.min(at, reservationStepBytes.max)),
        );
      await keepAlive();
      yield chunk;
    }
  }
  return app.storage.append(upload.id, offset, hashes.through(upload.id, offset, metered()), mayWrite ? { mayWrite } : {});
}

/** Hashes a body that should be content of the registry, and stores nothing. A longer body is different content. */
async function hashHeld(body: AsyncIterable<Buffer>, heldBytes: number, keepAlive: () => Promise<void>): Promise<number> {
  let at = 0;
  for await (const chunk of body) {
    at += chunk.length;
    if (at > heldBytes)
      throw new RegistryError('DIGEST_INVALID', `the content with this digest has ${heldBytes} bytes, and more have come; send it again`);
    await keepAlive();
  }
  return at;
}

/** Reserves at least `minBytes` more for the upload, and up to `wantedBytes`. */
async function reserveMore({ app }: Engine, upload: UploadRow, keep: (tx: Tx) => Promise<void>, minBytes: number, wantedBytes: number) {
  const granted = await withEviction(app, upload.registry_id, () =>
    retryWhileUnavailable(() =>
      app.db.write(async (tx) => {
        await keep(tx);
        const bytes = await reserveBytes(tx, upload.registry_id, wantedBytes, minBytes);
        await addReservation(tx, upload.id, bytes);
        return bytes;
      }),
    ),
  );
  upload.reserved += granted;
}

/** The source of a mount: a named repository, or any repository of the target's registry that the caller may pull from. */
export type MountSource = { registryId: string; repository: string } | { mayPull: (repository: string) => boolean };

/**
 * Links content of another repository. False: the source does not have it, and the client must send it. `cached`: into a cache, where it
 * may be evicted.
 */
export function mountBlob(
  { app, settings }: Engine,
  target: RepositoryRow,
  digest: string,
  source: MountSource,
  { cached = false, allow }: { cached?: boolean; allow?: CheckPermission } = {},
): Promise<boolean> {
  const mount = async (tx: Tx) => {
    await allow?.(tx);
    if ('repository' in source) {
      const repository = await repositoryByName(
        tx,
        source.registryId,
        source.repository,
        otherSpelling(app.config.registry_upstreams, source.repository),
      );
      if (!repository || !(await linkedBlob(tx, repository.id, digest))) return false;
    } else {
      const holders = await holdersOf(tx, digest, [target.registry_id]);
      if (!holders.some((h) => source.mayPull(h.repository))) return false;
    }
    const blob = await shareBlob(tx, digest);
    if (blob) await linkInto(tx, settings, target, blob, { cached });
    return Boolean(blob);
  };
  return withEviction(app, target.registry_id, () => retryWhileUnavailable(() => app.db.write(mount)));
}
