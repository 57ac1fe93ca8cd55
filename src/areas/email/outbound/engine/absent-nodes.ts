import type { App } from '../../../../kernel/app.ts';
import * as store from '../../store/data-directories.ts';
import { releaseStored } from '../../store/segments.ts';
import { emitEvents } from '../../webhooks/engine/emit-events.ts';
import { failedEventsOf } from '../../webhooks/engine/failed-events.ts';
import { updateMessageStates } from '../store/queue.ts';

const batchSize = 200;

/** Shown in `lastError` and in events. */
export const lostWithDisk =
  'its content was only on the disk of a server that has been away for 24 hours; it was not sent to this recipient, send it again';

/**
 * Counts the mail on data directories whose servers are absent, and fails it after 24 hours, so that its sender hears of it. Also repairs times
 * that a clock set back would hold mail for. Each batch is one transaction; a directory that returns keeps the mail that has not failed yet.
 */
export async function failMailOfAbsentNodes({ db, log, config }: App, signal: AbortSignal): Promise<void> {
  await db.write(store.repairFutureTimes);
  const hasS3 = config.storage !== '';
  if (hasS3) await db.write(releaseStored);
  await db.write(store.addAbsentTime);
  await db.write(store.countMailOnAbsentDisks);
  for (const node of await db.read(store.findLostDirectories)) {
    let lost = 0;
    for (let failed = batchSize; failed > 0 && !signal.aborted; lost += failed)
      failed = await db.write(async (tx) => ((await store.lockLostDirectory(tx, node)) ? failBatch(tx, node) : 0));
    const isGone = await db.write(async (tx) => {
      if (signal.aborted || !(await store.lockLostDirectory(tx, node))) return false;
      await store.releaseArrivalsOfNode(tx, node);
      // Without S3 its segments hold the content of 30 days, which is back once the directory is.
      if (hasS3) await store.deleteUnstoredSegments(tx, node);
      return true;
    });
    if (isGone || lost > 0)
      log.error({ node, recipients: lost }, 'mail on the disk of a server that is gone was given up, and its senders are told');
  }
  await db.write(store.countMailOnAbsentDisks);
  await db.write(store.deleteAbsentDirectories);
}

async function failBatch(tx: Parameters<typeof store.failRecipientsOnLostDisk>[0], node: string): Promise<number> {
  const failed = await store.failRecipientsOnLostDisk(tx, node, batchSize, lostWithDisk);
  if (failed.length === 0) return 0;
  await updateMessageStates(tx, [...new Set(failed.map(({ message_id }) => message_id))]);
  for (const [org, own] of Map.groupBy(failed, ({ org_id }) => org_id)) await emitEvents(tx, failedEventsOf(org, own, lostWithDisk));
  return failed.length;
}
