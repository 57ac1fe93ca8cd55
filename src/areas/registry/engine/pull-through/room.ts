import { randomUUID } from 'node:crypto';
import { shareRepository } from '../../store/removed-repositories.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { insertFill, keepUpload, takeUpload } from '../../store/uploads.ts';
import { settledSeconds, withRoom } from '../gc/evict.ts';
import { OverQuota, releaseBytes, reserveBytes } from '../quota.ts';
import type { Upstreams } from './types.ts';

/** The room of a blob that is fetched: once for the storage, and once for the file that its readers share. Both stand as uploads, so
 *  that a crash gives them back once they expire. */
export interface FillRoom {
  /** Of the storage; the commit of the blob takes it. */
  uploadId: string;
  /** Gives back the room of the storage, if the blob was not committed. */
  releaseStored(): Promise<void>;
  /** Gives back the room of the spool, which is closed. */
  releaseSpool(): Promise<void>;
}

const ttlSeconds = 900;
const renewMs = 300_000;

/** Room for a blob of this size, made by cached images that nobody uses. Undefined: there is none. */
export async function reserveFill({ app, node }: Upstreams, repository: RepositoryRow, size: number): Promise<FillRoom | undefined> {
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
    await withRoom(app, registry_id, reserve, settledSeconds);
  } catch (error) {
    await app.storage.abort(uploadId).catch(() => {});
    if (error instanceof OverQuota) return undefined;
    throw error;
  }
  const running = new Set([uploadId, spoolId]);
  const renew = async () => {
    for (const id of running) await app.db.read((tx) => keepUpload(tx, id, ttlSeconds));
  };
  const timer = setInterval(() => void renew().catch(() => {}), renewMs);
  timer.unref();
  const release = async (id: string) => {
    running.delete(id);
    if (running.size === 0) clearInterval(timer);
    await app.db.write(async (tx) => {
      const gone = await takeUpload(tx, id);
      if (gone) await releaseBytes(tx, registry_id, gone.reserved);
    });
  };
  const releaseQuietly = (id: string) =>
    release(id).catch((error) => app.log.warn({ err: error, registry: registry_id }, 'the room of a fetched blob is given back later'));
  return { uploadId, releaseStored: () => releaseQuietly(uploadId), releaseSpool: () => releaseQuietly(spoolId) };
}
