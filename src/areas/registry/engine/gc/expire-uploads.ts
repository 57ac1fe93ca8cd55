import type { App } from '../../../../kernel/app.ts';
import { nodeOf } from '../../../../kernel/data/node.ts';
import { UploadBusy } from '../../../../kernel/storage/index.ts';
import { abandonedUploads, deleteUpload, expiredUploads, type UploadRow } from '../../store/uploads.ts';
import { releaseBytes } from '../quota.ts';

/** Deletes expired uploads: first the bytes, then the row and its reservation, so that a crash leaves the row to find them by. */
export async function expireUploads(app: App, signal: AbortSignal): Promise<number> {
  const node = await nodeOf(app);
  let expired = 0;
  const failures: unknown[] = [];
  const drop = async (upload: UploadRow) => {
    await app.db.write(async (tx) => {
      const gone = await deleteUpload(tx, upload.id);
      if (gone) await releaseBytes(tx, upload.registry_id, gone.reserved);
    });
    expired++;
  };
  const skipped: string[] = [];
  for (;;) {
    const expiring = await app.db.read((tx) => expiredUploads(tx, node, skipped, 100));
    for (const upload of expiring) {
      if (signal.aborted) return expired;
      try {
        await app.storage.abort(upload.id);
      } catch (error) {
        skipped.push(upload.id); // one that fails stops no other
        // A client may be sending to it after all.
        if (!(error instanceof UploadBusy)) failures.push(error);
        continue;
      }
      await drop(upload);
    }
    if (expiring.length === 0) break;
  }
  // A machine that never came back cannot clean up. Its reservations are released here; its bytes went with the machine.
  for (const upload of await app.db.read((tx) => abandonedUploads(tx, node, 1_000))) await drop(upload);
  if (failures.length > 0)
    throw new AggregateError(failures, `the bytes of ${failures.length} expired uploads could not be deleted: ${failures[0]}`);
  return expired;
}
