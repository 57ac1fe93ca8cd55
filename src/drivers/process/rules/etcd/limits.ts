/** Resources of one member by the datastore's size. The memory is GOMEMLIMIT: etcd's files are mapped beside it, and given back under pressure. */
export interface MemberLimits {
  processors: number;
  memoryMiB: number;
}

const small: MemberLimits = { processors: 1, memoryMiB: 256 };
const sizes = new Map<string, MemberLimits>([
  ['db-small', small],
  ['db-medium', { processors: 2, memoryMiB: 1_024 }],
  ['db-large', { processors: 4, memoryMiB: 4_096 }],
]);

export const memberLimitsOf = (size: string | undefined): MemberLimits => sizes.get(size ?? '') ?? small;

/** As a new dedicated datastore without one. */
const defaultStorageGiB = 10;

export const quotaBytesOf = ({ storageGiB = defaultStorageGiB }: { storageGiB?: number }): number => storageGiB * 2 ** 30;

/** Sizes of one member's file: all of it, and the part that holds data. */
export interface StoreUse {
  fileBytes: number;
  usedBytes: number;
}

const fullShare = 0.95;
/** It takes writes again a little below, so that it does not turn on each measurement. */
const roomShare = 0.93;

/** Whether a store takes only deletions, leases and node status. */
export const isFull = (used: number, quota: number, wasFull: boolean): boolean => used >= (wasFull ? roomShare : fullShare) * quota;

/** Writes count in the file, which shrinks only by a defragmentation: it is due when most of the file is free, or some of a file that is nearly
 *  as large as it may be. */
export function needsDefragmentation({ fileBytes, usedBytes }: StoreUse, quota: number): boolean {
  const free = fileBytes - usedBytes;
  const isLargelyFree = free > 200 * 2 ** 20 && free > fileBytes / 2;
  const isNearlyFull = fileBytes > 0.8 * quota && free > 0.1 * fileBytes;
  return isLargelyFree || isNearlyFull;
}

/** Clients of a member that was away wait before each attempt to connect: 1 s, then 1.6 times as long, ± 20 %. */
const reconnects = { firstMs: 1_000, factor: 1.6, jitter: 0.2, maxMs: 120_000 };

/** How long after a member went away all clients are connected to it again, if it is back after `downMs`. */
export function reconnectedAfterMs(downMs: number): number {
  const { firstMs, factor, jitter, maxMs } = reconnects;
  const latest = (waitMs: number) => waitMs * (1 + jitter);
  let before = 0;
  let last = 0;
  // Each attempt that may follow one that was too early.
  for (let wait = firstMs; before === 0 || before * (1 - jitter) < downMs; wait = Math.min(maxMs, wait * factor)) {
    last = Math.min(latest(before + wait), downMs + latest(wait));
    before += wait;
  }
  return last;
}
