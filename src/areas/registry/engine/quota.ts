import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../kernel/db.ts';

// A registry may hold so many distinct bytes of blobs and manifests. What an upload is about to bring is reserved as it comes, so
// that a push which cannot fit is refused before it is sent. The registry's row is locked last in every transaction: whoever holds
// it waits for nothing else.

const QuotaRow = Type.Object({ quota_bytes: Type.Integer(), used_bytes: Type.Integer(), reserved_bytes: Type.Integer() });
export type Quota = Static<typeof QuotaRow>;

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

export const quotaOf = (tx: Tx, registryId: string) => row(tx, QuotaRow)`
  select quota_bytes, used_bytes, reserved_bytes from registry.registry where id = ${registryId}`;

export const lockRegistry = (tx: Tx, registryId: string) => row(tx, QuotaRow)`
  select quota_bytes, used_bytes, reserved_bytes from registry.registry where id = ${registryId} for no key update`;

export const freeOf = (q: Quota) => q.quota_bytes - q.used_bytes - q.reserved_bytes;

/** Up to `wanted` bytes, at least `least`, or OverQuota. Call it last in its transaction. */
export async function reserve(tx: Tx, registryId: string, wanted: number, least: number): Promise<number> {
  const quota = await lockRegistry(tx, registryId);
  if (!quota) return 0; // the registry is being deleted: its upload goes with it
  const granted = Math.min(wanted, freeOf(quota));
  if (granted < least) throw new OverQuota(quota, least);
  await run(tx)`update registry.registry set reserved_bytes = reserved_bytes + ${granted} where id = ${registryId}`;
  return granted;
}

export const release = (tx: Tx, registryId: string, bytes: number) =>
  bytes === 0
    ? Promise.resolve(0)
    : run(tx)`update registry.registry set reserved_bytes = greatest(0, reserved_bytes - ${bytes}) where id = ${registryId}`;

/** Books what a transaction brought or took, under the row lock that makes `elsewhere` sure. Call it last. */
export async function book(
  tx: Tx,
  registryId: string,
  change: { size: number; sign: 1 | -1; reserved?: number; elsewhere: () => Promise<boolean> },
): Promise<void> {
  const quota = await lockRegistry(tx, registryId);
  if (!quota) return;
  const { size, sign, reserved = 0 } = change;
  const delta = (await change.elsewhere()) ? 0 : size * sign;
  if (delta > 0 && freeOf(quota) + reserved < delta) throw new OverQuota(quota, delta);
  if (delta === 0 && reserved === 0) return;
  await run(tx)`
    update registry.registry set used_bytes = greatest(0, used_bytes + ${delta}), reserved_bytes = greatest(0, reserved_bytes - ${reserved})
     where id = ${registryId}`;
}

/** The truth by counting, for the task that keeps the running figures honest; under the row lock nobody changes them meanwhile. */
export async function recount(tx: Tx, registryId: string): Promise<boolean> {
  const before = await lockRegistry(tx, registryId);
  if (!before) return false;
  const counted = (await row(tx, Type.Object({ used: Type.Integer(), reserved: Type.Integer() }))`
    select (select coalesce(sum(b.size), 0) from registry.blob b
             where b.id in (select blob_id from registry.repository_blob where registry_id = ${registryId}))::bigint
         + (select coalesce(sum(size), 0) from (select distinct on (m.digest) m.size
              from registry.manifest m join registry.repository r on r.id = m.repository_id where r.registry_id = ${registryId}) d)::bigint as used,
           (select coalesce(sum(u.reserved), 0) from registry.upload u join registry.repository r on r.id = u.repository_id
             where r.registry_id = ${registryId})::bigint as reserved`)!;
  if (counted.used === before.used_bytes && counted.reserved === before.reserved_bytes) return false;
  await run(tx)`update registry.registry set used_bytes = ${counted.used}, reserved_bytes = ${counted.reserved} where id = ${registryId}`;
  return true;
}
