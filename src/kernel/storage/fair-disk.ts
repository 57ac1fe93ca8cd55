import { currentContext, type FairSemaphore, makeFairSemaphore, TenantThrottled } from '../fairness/index.ts';
import { StorageUnavailable } from './errors.ts';

// A sync holds a thread for as long as the disk takes, and libuv has four for all files of this process. So one is left for opens, reads
// and writes. While other organizations sync too, an organization that syncs much does so one at a time.
const waitLimits = { maxWaitingPerOrg: 10_000, waitMs: 60_000 };
const syncs = makeFairSemaphore({ slots: 3, perOrg: 3, perOrgWhenContended: 1, ...waitLimits });

// A chunk is sent in the event-loop turn in which it was read. With two hundred concurrent transfers, every other request would wait for
// two hundred chunks before each step of its own. More reads than threads are no faster.
const reads = makeFairSemaphore({ slots: 64, perOrg: 4, ...waitLimits });

/** Starts a sync if a slot is free at this moment: for optional syncs. */
export function syncIfFree(sync: () => Promise<void>): Promise<void> | undefined {
  const { org, isSystem } = currentContext();
  return syncs.tryAcquire(org, isSystem) ? sync().finally(() => syncs.release(org)) : undefined;
}

/** For work that ends with a sync. */
export const syncFairly = <T>(sync: () => Promise<T>): Promise<T> => withSlot(syncs, sync);

/** Opens a file, or reads a piece of one. */
export const readFairly = <T>(read: () => Promise<T>): Promise<T> => withSlot(reads, read);

async function withSlot<T>(turns: FairSemaphore, work: () => Promise<T>): Promise<T> {
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
