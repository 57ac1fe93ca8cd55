import { Crowded, currentBehalf, makeTurnstile } from '../shares/index.ts';
import { StorageUnavailable } from './errors.ts';

// A sync holds a thread for as long as the disk takes, and there are four for all files of this process (libuv). So one is left to those who
// only open, read or write; and beside others, an organization that syncs much does so one at a time.
const turns = makeTurnstile({ slots: 3, perOrg: 3, besides: 1, mostWaiting: 10_000, waitMs: 60_000 });

/** Begins one if there is room for it at this moment: for what may as well be left. */
export function syncIfFree(sync: () => Promise<void>): Promise<void> | undefined {
  const { org, isAside } = currentBehalf();
  return turns.enterAtOnce(org, isAside) ? sync().finally(() => turns.leave(org)) : undefined;
}

/** Does something that ends with the disk's word that it is there. */
export async function syncInTurn<T>(sync: () => Promise<T>): Promise<T> {
  const { org, isAside } = currentBehalf();
  await turns.enter(org, isAside)?.catch((error) => {
    throw error instanceof Crowded ? new StorageUnavailable(error) : error;
  });
  try {
    return await sync();
  } finally {
    turns.leave(org);
  }
}
