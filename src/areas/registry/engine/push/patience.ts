import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseAway } from '../../../../kernel/db/index.ts';

const patienceMs = 10_000;
const pauseMs = 250;

/** Bytes that have come a long way are not thrown away because the database was away for a moment. The work must be safe to do
 *  twice: an answer that got lost may have belonged to a transaction that went through. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + patienceMs; ; ) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DatabaseAway) || performance.now() > end) throw error;
      await sleep(pauseMs);
    }
  }
}
