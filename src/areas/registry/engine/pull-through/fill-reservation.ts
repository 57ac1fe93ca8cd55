import { randomUUID } from 'node:crypto';
import { shareRepository } from '../../store/removed-repositories.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { deleteUpload, extendUpload, insertFill } from '../../store/uploads.ts';
import { fillEvictsUnusedForSeconds, withEviction } from '../gc/evict.ts';
import { OverQuota, releaseBytes, reserveBytes } from '../quota.ts';
import type { Upstreams } from './types.ts';

/**
 * The quota of a blob being fetched: once for the storage and once for the spool. Both are rows in the upload table, so after a crash they
 * expire.
 */
export interface FillReservation {
  /** Of the storage; committing the blob deletes its row. */
  uploadId: string;
  /** Releases the storage's bytes, if the blob was not committed. */
  releaseStorage(): Promise<void>;
  /** Releases the spool's bytes after the spool is closed. */
  releaseSpool(): Promise<void>;
}

const ttlSeconds = 900;
const renewMs = 300_000;

/** Reserves quota for a blob of this size and evicts unused cached images for it. Undefined: not enough quota. */
export async function reserveFill({ app, node }: Upstreams, repository: RepositoryRow, size: number): Promise<FillReservation | undefined> {
  const uploadId = await app.storage.createUpload();
  const spoolId = randomUUID();
  const { id: repositoryId, org_id: org, registry_id } = repository;
  const row = { org, repositoryId, node: await node(), keyId: 'cache', ttlSeconds, reserved: size };
  const reserve = () =>
    app.db.write(async (tx) => {
      await shareRepository(tx, repositoryId);
      for (const id of [uploadId, spoolId]) await insertFill(tx, { ...row, id });
      await reserveBytes(tx, registry_id, 2 * size, 2 * size);
    });
  try {
    await withEviction(app, registry_id, reserve, fillEvictsUnusedForSeconds);
  } catch (error) {
    await app.storage.abort(uploadId).catch(() => {});
    if (error instanceof OverQuota) return undefined;
    throw error;
  }
  const running = new Set([uploadId, spoolId]);
  const renew = async () => {
    for (const id of running) await app.db.read((tx) => extendUpload(tx, id, ttlSeconds));
  };
  const timer = setInterval(() => void renew().catch(() => {}), renewMs);
  timer.unref();
  const release = async (id: string) => {
    running.delete(id);
    if (running.size === 0) clearInterval(timer);
    await app.db.write(async (tx) => {
      const gone = await deleteUpload(tx, id);
      if (gone) await releaseBytes(tx, registry_id, gone.reserved);
    });
  };
  const releaseQuietly = (id: string) =>
    release(id).catch((error) => app.log.warn({ err: error, registry: registry_id }, 'the room of a fetched blob is given back later'));
  return { uploadId, releaseStorage: () => releaseQuietly(uploadId), releaseSpool: () => releaseQuietly(spoolId) };
}
