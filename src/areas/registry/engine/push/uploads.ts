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
  endUpload,
  insertUpload,
  keepUpload,
  mostOpen,
  smallestReserved,
  takeUpload,
  type UploadRow,
} from '../../store/uploads.ts';
import type { Allow } from '../credentials/index.ts';
import { withRoom } from '../gc/evict.ts';
import { freeOf, OverQuota, releaseBytes, reserveBytes } from '../quota.ts';
import type { Engine } from '../settings.ts';
import type { Hashes } from './hashes.ts';
import { inTurn, patiently } from './patience.ts';
import { linkInto } from './store-blob.ts';

/** The repository, made when it is not there. Undefined: the registry is gone. */
export const makeRepository = ({ app }: Engine, registryId: string, name: string, allow: Allow) =>
  patiently(() => app.db.write(async (tx) => (await Promise.all([allow(tx), ensureRepository(tx, { registryId, name })]))[1]));

interface Begun {
  org: string;
  keyId: string;
  node: string;
  algorithm: Algorithm;
  /** The registry has the content that is about to come: it needs no room. */
  isHeld: boolean;
}

export async function beginUpload(
  { app, settings }: Engine,
  hashes: Hashes,
  repository: RepositoryRow,
  { org, keyId, node, algorithm, isHeld }: Begun,
): Promise<UploadRow> {
  const id = await app.storage.createUpload();
  const made = { id, org, repositoryId: repository.id, node, keyId, ttlSeconds: settings.uploadSeconds };
  const begun = await inTurn(() => app.db.read((tx) => insertUpload(tx, made, isHeld ? 0 : smallestReserved)));
  if (!begun || begun.reserved === null) {
    await app.storage.abort(id);
    throw begun ? refuseBeginning(begun) : new UploadUnknown();
  }
  hashes.begin(id, algorithm);
  return { id, repository_id: repository.id, registry_id: repository.registry_id, node, reserved: begun.reserved };
}

const refuseBeginning = (figures: Quota & { open: number }) =>
  figures.open >= mostOpen
    ? new RegistryError(
        'TOOMANYREQUESTS',
        `the registry has ${mostOpen} uploads that are not finished; finish or cancel some, or wait until they expire`,
        { retrySeconds: 60 },
      )
    : new OverQuota(figures, smallestReserved);

/** Ends an upload for a client that cancels it. From the commit on it cannot be continued; after a crash its bytes go as those of any
 *  upload that has expired. */
export async function abandonUpload(engine: Engine, hashes: Hashes, upload: UploadRow, allow: Allow): Promise<void> {
  await engine.app.db.write(async (tx) => {
    await allow(tx);
    await endUpload(tx, upload.id);
  });
  await discardUpload(engine, hashes, upload);
}

/** Its bytes, then its row and reservation. */
export async function discardUpload({ app }: Engine, hashes: Hashes, upload: UploadRow): Promise<void> {
  hashes.forget(upload.id);
  await app.storage.abort(upload.id);
  await app.db.write(async (tx) => {
    const gone = await takeUpload(tx, upload.id);
    if (gone) await releaseBytes(tx, upload.registry_id, gone.reserved);
  });
}

/** Early, with the numbers: OverQuota before a byte of `announced` is sent, or when there is no room for an upload at all. Undefined:
 *  the registry is gone. */
export const requireRoom = ({ app }: Engine, registryId: string, announced: number): Promise<Quota | undefined> =>
  withRoom(app, registryId, async () => {
    const needed = Math.max(smallestReserved, announced);
    const quota = await patiently(() => app.db.read((tx) => quotaOf(tx, registryId)));
    if (quota && freeOf(quota) < needed) throw new OverQuota(quota, needed);
    return quota;
  });

const MiB = 1024 * 1024;
/** A sender that does not say how much is coming gets room in steps, each as much as it has sent, within these. */
const step = { least: MiB, most: 64 * MiB };

/** Bytes for an upload. */
export interface Incoming {
  body: AsyncIterable<Buffer>;
  offset: number;
  /** How many come, when the sender said so. */
  declared: number | undefined;
  /** The registry holds this content already, with so many bytes. Only for a body that is all of it. */
  held?: number | undefined;
  /** Asked before bytes are written. */
  mayWrite?: (() => Promise<void>) | undefined;
}

/** Takes a body's bytes into an upload at an offset, hashing them and reserving room as they come: every byte has its room in the
 *  quota before it is on the disk. What the registry holds already is only hashed: it needs no second copy. Returns the new offset. */
export async function receiveBytes(engine: Engine, hashes: Hashes, upload: UploadRow, incoming: Incoming): Promise<number> {
  const { app, settings } = engine;
  const { body, offset, declared, held, mayWrite } = incoming;
  const { uploadSeconds } = settings;
  const keepMs = Math.min(60, uploadSeconds / 3) * 1000;
  let kept = performance.now();
  // Gone with its repository, or expired: nobody would go on with it, nor give back what is reserved for it now.
  const keep = async (tx: Tx) => {
    if (!(await keepUpload(tx, upload.id, uploadSeconds))) throw new UploadUnknown();
    kept = performance.now();
  };
  // However long this one request takes: another server would expire it under our hands.
  const keepAlive = async () => {
    if (performance.now() - kept > keepMs) await patiently(() => app.db.read(keep));
  };
  if (held !== undefined) return hashHeld(hashes.through(upload.id, offset, body), held, keepAlive);

  const end = offset + (declared ?? 0);
  if (end > upload.reserved) await makeRoom(engine, upload, keep, end - upload.reserved, end - upload.reserved);
  async function* metered(): AsyncGenerator<Buffer> {
    let at = offset;
    for await (const chunk of body) {
      at += chunk.length;
      const missing = at - upload.reserved;
      if (missing > 0) await makeRoom(engine, upload, keep, missing, Math.max(missing, step.least, Math.min(at, step.most)));
      await keepAlive();
      yield chunk;
    }
  }
  return app.storage.append(upload.id, offset, hashes.through(upload.id, offset, metered()), mayWrite ? { mayWrite } : {});
}

/** Reads a body that is said to be content which the registry holds: once it is longer, it is not. Nothing of it is stored. */
async function hashHeld(body: AsyncIterable<Buffer>, held: number, keepAlive: () => Promise<void>): Promise<number> {
  let at = 0;
  for await (const chunk of body) {
    at += chunk.length;
    if (at > held)
      throw new RegistryError('DIGEST_INVALID', `the content with this digest has ${held} bytes, and more have come; send it again`);
    await keepAlive();
  }
  return at;
}

/** Reserves at least `least` bytes for the upload, and up to `wanted`. */
async function makeRoom({ app }: Engine, upload: UploadRow, keep: (tx: Tx) => Promise<void>, least: number, wanted: number) {
  const granted = await withRoom(app, upload.registry_id, () =>
    patiently(() =>
      app.db.write(async (tx) => {
        await keep(tx);
        const bytes = await reserveBytes(tx, upload.registry_id, wanted, least);
        await addReservation(tx, upload.id, bytes);
        return bytes;
      }),
    ),
  );
  upload.reserved += granted;
}

/** Where a mount takes its blob from: a repository by its name; or any of the target's registry that the caller may pull from. */
export type MountSource = { registryId: string; repository: string } | { mayPull: (repository: string) => boolean };

/** Links content that another repository has. False: it has none, and the client has to send it. `cached`: into a cache, which may let
 *  go of it again. */
export function mountBlob(
  { app, settings }: Engine,
  target: RepositoryRow,
  digest: string,
  source: MountSource,
  { cached = false, allow }: { cached?: boolean; allow?: Allow } = {},
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
  return withRoom(app, target.registry_id, () => patiently(() => app.db.write(mount)));
}
