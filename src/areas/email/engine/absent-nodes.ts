import type { App } from '../../../kernel/app.ts';
import * as store from '../store/holders.ts';
import { summarize } from '../store/queue.ts';
import { freeStored } from '../store/segments.ts';
import { emitEvents } from './webhooks/emit-events.ts';
import { failedEventsOf } from './webhooks/outcome-events.ts';

const batchSize = 200;

/** Shown in `lastError` and in events. */
export const lostWithDisk =
  'its content was only on the disk of a server that has been away for 24 hours; it was not sent to this recipient, send it again';

/**
 * Counts the mail on data directories whose servers are absent, and fails it after 24 hours, so that its sender hears of it. Also repairs times
 * that a clock set back would hold mail for. Each batch is one transaction; a directory that returns keeps the mail that has not failed yet.
 */
export async function failMailOfAbsentNodes({ db, log, config }: App, signal: AbortSignal): Promise<void> {
  await db.write(store.mendTimes);
  const hasS3 = config.storage !== '';
  if (hasS3) await db.write(freeStored);
  await db.write(store.watchHolders);
  await db.write(store.countHeldAway);
  for (const node of await db.read(store.findGone)) {
    let lost = 0;
    for (let failed = batchSize; failed > 0 && !signal.aborted; lost += failed)
      failed = await db.write(async (tx) => ((await store.lockGone(tx, node)) ? failBatch(tx, node) : 0));
    const isGone = await db.write(async (tx) => {
      if (signal.aborted || !(await store.lockGone(tx, node))) return false;
      await store.freeArrivals(tx, node);
      // Without S3 its segments hold the content of 30 days, which is back once the directory is.
      if (hasS3) await store.forgetSegments(tx, node);
      return true;
    });
    if (isGone || lost > 0)
      log.error({ node, recipients: lost }, 'mail on the disk of a server that is gone was given up, and its senders are told');
  }
  await db.write(store.countHeldAway);
  await db.write(store.forgetHolders);
}

async function failBatch(tx: Parameters<typeof store.failLost>[0], node: string): Promise<number> {
  const failed = await store.failLost(tx, node, batchSize, lostWithDisk);
  if (failed.length === 0) return 0;
  await summarize(tx, [...new Set(failed.map(({ message_id }) => message_id))]);
  for (const [org, own] of Map.groupBy(failed, ({ org_id }) => org_id)) await emitEvents(tx, failedEventsOf(org, own, lostWithDisk));
  return failed.length;
}
