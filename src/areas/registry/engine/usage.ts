import type { App } from '../../../kernel/app.ts';
import { dropOldUsage, noteUsage } from '../store/quota.ts';

/** Registries of one transaction, and rows of one deletion. */
const batch = 1_000;

/**
 * Notes what each registry holds, and drops days past their retention. Safe to run twice and to be killed: a note of the same day replaces
 * the one before it.
 */
export async function keepUsage({ db }: App, signal: AbortSignal): Promise<void> {
  for (let after = ''; !signal.aborted; ) {
    const { id, noted } = await db.write((tx) => noteUsage(tx, after, batch));
    if (id === null || noted < batch) break;
    after = id;
  }
  while (!signal.aborted && (await db.write((tx) => dropOldUsage(tx, batch))) === batch);
}
