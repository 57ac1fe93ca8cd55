import type { Tx } from '../../../kernel/db/index.ts';
import { addReserved, changeFigures, countDrift, lockQuota, type Quota, subtractReserved } from '../store/quota.ts';
import { lockUnweighed, stillUnweighed, weigh } from '../store/weights.ts';

// A registry may hold so many bytes: distinct ones of blobs, and what its manifests weigh in each repository. What an upload is about to
// bring is reserved as it comes, so that a push which cannot fit is refused before it is sent. The registry's row is locked last in every transaction: whoever holds
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
  change: { size: number; sign: 1 | -1; reserved?: number; elsewhere?: () => Promise<boolean> },
): Promise<void> {
  const [quota, isElsewhere] = await Promise.all([lockQuota(tx, registryId), change.elsewhere?.()]); // one after the other, in one round trip
  if (!quota) return;
  const { size, sign, reserved = 0 } = change;
  const used = isElsewhere ? 0 : size * sign;
  if (used > 0 && freeOf(quota) + reserved < used) throw new OverQuota(quota, used);
  if (used === 0 && reserved === 0) return;
  await changeFigures(tx, registryId, { used, reserved });
}

/** A manifest that went. Without a weight it is from before manifests had one. */
export interface GoneManifest {
  digest: string;
  size: number;
  weight: number | null;
}

/** Takes off what manifests weighed that this transaction has deleted. Call it last. */
export async function bookGone(tx: Tx, registryId: string, gone: readonly GoneManifest[]): Promise<void> {
  if (gone.length === 0 || !(await lockQuota(tx, registryId))) return;
  const before = new Map(gone.flatMap(({ digest, size, weight }) => (weight === null ? [[digest, size] as const] : [])));
  const held = before.size > 0 ? await stillUnweighed(tx, registryId, [...before.keys()]) : new Set();
  const weights = gone.reduce((sum, { weight }) => sum + (weight ?? 0), 0);
  const sizes = [...before].reduce((sum, [digest, size]) => sum + (held.has(digest) ? 0 : size), 0);
  await changeFigures(tx, registryId, { used: -(weights + sizes), reserved: 0 });
}

/** Weighs some manifests from before they had a weight, of one registry: what they were booked by goes when the last of a digest has
 *  one. Returns how many. It refuses nobody: what is too much now stands in the registry's figures. */
export async function weighSome(tx: Tx, most: number): Promise<number> {
  const locked = await lockUnweighed(tx, most);
  const registryId = locked[0]?.registry_id;
  if (registryId === undefined) return 0;
  const weighed = await weigh(
    tx,
    locked.map((m) => m.id),
  );
  await lockQuota(tx, registryId);
  const sizes = new Map(weighed.map((m) => [m.digest, m.size]));
  const held = await stillUnweighed(tx, registryId, [...sizes.keys()]);
  const booked = [...sizes].reduce((sum, [digest, size]) => sum + (held.has(digest) ? 0 : size), 0);
  const weights = weighed.reduce((sum, { weight }) => sum + weight, 0);
  await changeFigures(tx, registryId, { used: weights - booked, reserved: 0 });
  return weighed.length;
}

/** The truth by counting, for the task that keeps the running figures honest. Whoever books meanwhile moves both: only the difference
 *  is put right, and nobody waits while it is counted. */
export async function recount(tx: Tx, registryId: string): Promise<boolean> {
  const drift = await countDrift(tx, registryId);
  if (!drift || (drift.used === 0 && drift.reserved === 0)) return false;
  await changeFigures(tx, registryId, { used: drift.used, reserved: -drift.reserved });
  return true;
}
