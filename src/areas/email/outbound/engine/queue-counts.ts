import type { App } from '../../../../kernel/app.ts';
import { deleteZeroCounts, foldQueueChanges } from '../store/queue-counts.ts';

const maxBatchSize = 10_000;

/** Folds the queue's change rows since the last run into its counts. */
export async function aggregateQueueCounts({ db }: Pick<App, 'db'>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await db.write((tx) => foldQueueChanges(tx, maxBatchSize))) === maxBatchSize);
  await db.write(deleteZeroCounts);
}
