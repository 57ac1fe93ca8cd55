import type { Tx } from '../../../kernel/db/index.ts';
import { addReserved, changeFigures, countDrift, lockQuota, type Quota, subtractReserved } from '../store/quota.ts';
import { lockUnweighed, stillUnweighed, weigh } from '../store/weights.ts';

// A registry's quota covers the distinct bytes of its blobs and the weight of its manifests in each repository. Uploads reserve their bytes
// in advance, so that a push that cannot fit is refused early. The registry's row is locked last in every transaction: its holder waits for
// no other lock.

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

export const freeBytes = (q: Quota) => q.quota_bytes - q.used_bytes - q.reserved_bytes;

/** Reserves up to `wantedBytes`, at least `minBytes`, or throws OverQuota. Call it last in the transaction. */
export async function reserveBytes(tx: Tx, registryId: string, wantedBytes: number, minBytes: number): Promise<number> {
  const quota = await lockQuota(tx, registryId);
  if (!quota) return 0; // the registry is being deleted, and its uploads with it
  const granted = Math.min(wantedBytes, freeBytes(quota));
  if (granted < minBytes) throw new OverQuota(quota, minBytes);
  await addReserved(tx, registryId, granted);
  return granted;
}

export const releaseBytes = (tx: Tx, registryId: string, bytes: number) =>
  bytes === 0 ? Promise.resolve(0) : subtractReserved(tx, registryId, bytes);

/** Books added or removed bytes. The row lock makes the answer of `elsewhere` reliable. Call it last in the transaction. */
export async function bookBytes(
  tx: Tx,
  registryId: string,
  change: { size: number; sign: 1 | -1; reserved?: number; elsewhere?: () => Promise<boolean> },
): Promise<void> {
  const [quota, isElsewhere] = await Promise.all([lockQuota(tx, registryId), change.elsewhere?.()]); // sequential in the database, in one round trip
  if (!quota) return;
  const { size, sign, reserved = 0 } = change;
  const used = isElsewhere ? 0 : size * sign;
  if (used > 0 && freeBytes(quota) + reserved < used) throw new OverQuota(quota, used);
  if (used === 0 && reserved === 0) return;
  await changeFigures(tx, registryId, { used, reserved });
}

/** A deleted manifest. `weight` null: stored by a release without weights. */
export interface RemovedManifest {
  digest: string;
  size: number;
  weight: number | null;
}

/** Subtracts the manifests that this transaction deleted. Call it last. */
export async function bookRemovedManifests(tx: Tx, registryId: string, gone: readonly RemovedManifest[]): Promise<void> {
  if (gone.length === 0 || !(await lockQuota(tx, registryId))) return;
  const before = new Map(gone.flatMap(({ digest, size, weight }) => (weight === null ? [[digest, size] as const] : [])));
  const held = before.size > 0 ? await stillUnweighed(tx, registryId, [...before.keys()]) : new Set();
  const weights = gone.reduce((sum, { weight }) => sum + (weight ?? 0), 0);
  const sizes = [...before].reduce((sum, [digest, size]) => sum + (held.has(digest) ? 0 : size), 0);
  await changeFigures(tx, registryId, { used: -(weights + sizes), reserved: 0 });
}

/**
 * Weighs some manifests of one registry that were stored without a weight. The old booking (the size, once per digest) is removed with the
 * last manifest of the digest. Returns how many were weighed. The result may exceed the quota.
 */
export async function weighBatch(tx: Tx, limit: number): Promise<number> {
  const locked = await lockUnweighed(tx, limit);
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

/**
 * Corrects the running figures by counting. A booking made meanwhile changes both sides, so only the difference is applied and nothing is
 * locked while counting.
 */
export async function correctDrift(tx: Tx, registryId: string): Promise<boolean> {
  const drift = await countDrift(tx, registryId);
  if (!drift || (drift.used === 0 && drift.reserved === 0)) return false;
  await changeFigures(tx, registryId, { used: drift.used, reserved: -drift.reserved });
  return true;
}
