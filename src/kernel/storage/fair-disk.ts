import { currentContext, type FairSemaphore, makeFairSemaphore, TenantThrottled } from '../fairness/index.ts';
import { StorageUnavailable } from './errors.ts';

// A sync holds a thread for as long as the disk takes, and there are four for all files of this process (libuv). So one is left to those who
// only open, read or write; and beside others, an organization that syncs much does so one at a time.
const patience = { maxWaitingPerOrg: 10_000, waitMs: 60_000 };
const syncs = makeFairSemaphore({ slots: 3, perOrg: 3, perOrgWhenContended: 1, ...patience });

// What is read is sent in the turn of the event loop in which it came: of two hundred transfers that begin together all others would wait for
// two hundred pieces, before each step of their own. More than there are threads read no sooner.
const reads = makeFairSemaphore({ slots: 64, perOrg: 4, ...patience });

/** Begins one if there is room for it at this moment: for what may as well be left. */
export function syncIfFree(sync: () => Promise<void>): Promise<void> | undefined {
  const { org, isSystem } = currentContext();
  return syncs.tryAcquire(org, isSystem) ? sync().finally(() => syncs.release(org)) : undefined;
}

/** Does something that ends with the disk's word that it is there. */
export const syncFairly = <T>(sync: () => Promise<T>): Promise<T> => inTurn(syncs, sync);

/** Opens a file, or reads a piece of one. */
export const readFairly = <T>(read: () => Promise<T>): Promise<T> => inTurn(reads, read);

async function inTurn<T>(turns: FairSemaphore, work: () => Promise<T>): Promise<T> {
  const { org, isSystem } = currentContext();
  await turns.acquire(org, isSystem)?.catch((error) => {
    throw error instanceof TenantThrottled ? new StorageUnavailable(error) : error;
  });
  try {
    return await work();
  } finally {
    turns.release(org);
  }
}
