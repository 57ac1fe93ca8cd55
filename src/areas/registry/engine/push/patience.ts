import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseBusy, DatabaseUnavailable } from '../../../../kernel/db/index.ts';

const patienceMs = 10_000;
const pauseMs = 250;

/** Bytes that have come a long way are not thrown away because the database was away for a moment. The work must be safe to do
 *  twice: an answer that got lost may have belonged to a transaction that went through. */
export const patiently = <T>(work: () => Promise<T>): Promise<T> => tryWhile((error) => error instanceof DatabaseUnavailable, work);

/** The same for work that must not be done twice: only for a connection is waited. A push that is one of many of its organization has its
 *  turn later, instead of being refused. */
export const inTurn = <T>(work: () => Promise<T>): Promise<T> => tryWhile((error) => error instanceof DatabaseBusy, work);

async function tryWhile<T>(isWorthIt: (error: unknown) => boolean, work: () => Promise<T>): Promise<T> {
  // From the first failure on: what is waited for before the database is asked, such as a turn of the event loop, is not its absence.
  for (let end = Number.POSITIVE_INFINITY; ; ) {
    try {
      return await work();
    } catch (error) {
      end = Math.min(end, performance.now() + patienceMs);
      if (!isWorthIt(error) || performance.now() > end) throw error;
      await sleep(pauseMs);
    }
  }
}
