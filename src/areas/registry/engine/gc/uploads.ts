import type { App } from '../../../../kernel/app.ts';
import { nodeOf } from '../../../../kernel/data/node.ts';
import { UploadBusy } from '../../../../kernel/storage/index.ts';
import { expiredUploads, forgottenUploads, takeUpload, type UploadRow } from '../../store/uploads.ts';
import { releaseBytes } from '../quota.ts';

/** Uploads that nobody went on with: their bytes first, then their row and reservation, so that a crash leaves something to find. */
export async function expireUploads(app: App, signal: AbortSignal): Promise<number> {
  const node = await nodeOf(app);
  let expired = 0;
  const drop = async (upload: UploadRow) => {
    await app.db.write(async (tx) => {
      const gone = await takeUpload(tx, upload.id);
      if (gone) await releaseBytes(tx, upload.registry_id, gone.reserved);
    });
    expired++;
  };
  const skipped = new Set<string>();
  for (;;) {
    const expiring = (await app.db.read((tx) => expiredUploads(tx, node, 100))).filter((u) => !skipped.has(u.id));
    for (const upload of expiring) {
      if (signal.aborted) return expired;
      try {
        await app.storage.abort(upload.id);
      } catch (error) {
        if (!(error instanceof UploadBusy)) throw error;
        skipped.add(upload.id); // somebody is sending to it after all
        continue;
      }
      await drop(upload);
    }
    if (expiring.length === 0) break;
  }
  // A machine that never came back cannot tidy up: its reservations go, and its bytes went with it.
  for (const upload of await app.db.read((tx) => forgottenUploads(tx, node, 1_000))) await drop(upload);
  return expired;
}
