import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseBusy, DatabaseUnavailable } from '../../../../kernel/db/index.ts';

const retryForMs = 10_000;
const retryIntervalMs = 250;

/**
 * Retries for up to 10 s while the database is unavailable: a push has sent many bytes and is not rejected for a short outage. The work
 * must be idempotent, because a lost answer may belong to a committed transaction.
 */
export const retryWhileUnavailable = <T>(work: () => Promise<T>): Promise<T> =>
  retryWhile((error) => error instanceof DatabaseUnavailable, work);

/**
 * The same for work that is not idempotent: it waits only for a free connection. A push of a busy organization is delayed instead of
 * refused.
 */
export const retryWhileBusy = <T>(work: () => Promise<T>): Promise<T> => retryWhile((error) => error instanceof DatabaseBusy, work);

async function retryWhile<T>(isRetryable: (error: unknown) => boolean, work: () => Promise<T>): Promise<T> {
  // The deadline starts at the first failure: time spent throttled before that is not an outage of the database.
  for (let deadline = Number.POSITIVE_INFINITY; ; ) {
    try {
      return await work();
    } catch (error) {
      deadline = Math.min(deadline, performance.now() + retryForMs);
      if (!isRetryable(error) || performance.now() > deadline) throw error;
      await sleep(retryIntervalMs);
    }
  }
}
