import type { App } from '../../../../kernel/app.ts';
import { foldOutcomes } from '../store/outcome-days.ts';

const maxBatchSize = 10_000;

/** Adds the outcomes since the last run to their days. */
export async function addUpOutcomes({ db }: Pick<App, 'db'>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await db.write((tx) => foldOutcomes(tx, maxBatchSize))) === maxBatchSize);
}
