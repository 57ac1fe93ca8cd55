import type { Tx } from '../../../kernel/db/index.ts';
import { addReserved, changeFigures, countFigures, lockQuota, type Quota, setFigures, subtractReserved } from '../store/quota.ts';

// A registry may hold so many distinct bytes of blobs and manifests. What an upload is about to bring is reserved as it comes, so
// that a push which cannot fit is refused before it is sent. The registry's row is locked last in every transaction: whoever holds
// it waits for nothing else.

export class OverQuota extends Error {
  readonly detail: { quotaBytes: number; usedBytes: number; reservedBytes: number; neededBytes: number };

  constructor({ quota_bytes, used_bytes, reserved_bytes }: Quota, needed: number) {
    super(
      `the registry's quota is ${quota_bytes} bytes, ${used_bytes} are used and ${reserved_bytes} reserved by uploads under way, so ${needed} more do not fit; delete images or ask for more`,
    );
    this.name = 'OverQuota';
    this.detail = { quotaBytes: quota_bytes, usedBytes: used_bytes, reservedBytes: reserved_bytes, neededBytes: needed };
  }
}

export const freeOf = (q: Quota) => q.quota_bytes - q.used_bytes - q.reserved_bytes;

/** Up to `wanted` bytes, at least `least`, or OverQuota. Call it last in its transaction. */
export async function reserveBytes(tx: Tx, registryId: string, wanted: number, least: number): Promise<number> {
  const quota = await lockQuota(tx, registryId);
  if (!quota) return 0; // the registry is being deleted: its upload goes with it
  const granted = Math.min(wanted, freeOf(quota));
  if (granted < least) throw new OverQuota(quota, least);
  await addReserved(tx, registryId, granted);
  return granted;
}

export const releaseBytes = (tx: Tx, registryId: string, bytes: number) =>
  bytes === 0 ? Promise.resolve(0) : subtractReserved(tx, registryId, bytes);

/** Books what a transaction brought or took, under the row lock that makes `elsewhere` sure. Call it last. */
export async function bookBytes(
  tx: Tx,
  registryId: string,
  change: { size: number; sign: 1 | -1; reserved?: number; elsewhere: () => Promise<boolean> },
): Promise<void> {
  const quota = await lockQuota(tx, registryId);
  if (!quota) return;
  const { size, sign, reserved = 0 } = change;
  const used = (await change.elsewhere()) ? 0 : size * sign;
  if (used > 0 && freeOf(quota) + reserved < used) throw new OverQuota(quota, used);
  if (used === 0 && reserved === 0) return;
  await changeFigures(tx, registryId, { used, reserved });
}

/** The truth by counting, for the task that keeps the running figures honest; under the row lock nobody changes them meanwhile. */
export async function recount(tx: Tx, registryId: string): Promise<boolean> {
  const before = await lockQuota(tx, registryId);
  if (!before) return false;
  const counted = await countFigures(tx, registryId);
  if (counted.used === before.used_bytes && counted.reserved === before.reserved_bytes) return false;
  await setFigures(tx, registryId, counted);
  return true;
}
