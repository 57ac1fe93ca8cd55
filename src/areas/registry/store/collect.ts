import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';

const DyingRow = Type.Object({
  id: Type.Integer(),
  digest: Type.String(),
  storage_key: Type.String(),
  state: Type.String(),
  linked: Type.Boolean(),
});

/**
 * Locks a blob and tells whether a repository links it. Undefined: no such blob. 'in use': another transaction holds the row. It is not
 * waited for, because that transaction may wait for a link whose holder waits for our queue entry.
 */
export async function lockBlob(tx: Tx, id: number): Promise<Static<typeof DyingRow> | 'in use' | undefined> {
  const locked = await run(tx)`select from registry.blob where id = ${id} for update skip locked`;
  if (locked === 0) return (await knownBlobIds(tx, [id])).has(id) ? 'in use' : undefined;
  // A statement of its own after the lock: a statement that began earlier would not see the newest links.
  return row(tx, DyingRow)`
    select id, digest, storage_key, state, exists (select from registry.repository_blob where blob_id = b.id) as linked
      from registry.blob b where id = ${id}`;
}

export const markDying = (tx: Tx, id: number) => run(tx)`update registry.blob set state = 'dying' where id = ${id}`;
export const deleteDying = (tx: Tx, id: number) => run(tx)`delete from registry.blob where id = ${id} and state = 'dying'`;

/** The ids that have a row, whatever its state. */
export const knownBlobIds = async (tx: Tx, ids: number[]) =>
  new Set(
    (await rows(tx, Type.Object({ id: Type.Integer() }))`select id from registry.blob where id = any(${ids}::bigint[])`).map((b) => b.id),
  );

const SampleRow = Type.Object({ id: Type.Integer(), digest: Type.String(), size: Type.Integer(), storage_key: Type.String() });

/** Some blobs, starting at a random id. */
export const sampleBlobs = (tx: Tx, limit: number, maxBytes: number) => rows(tx, SampleRow)`
  select id, digest, size, storage_key from registry.blob
   where state = 'live' and size <= ${maxBytes}
     and id >= (select coalesce(min(id) + floor(random() * (max(id) - min(id) + 1))::bigint, 0) from registry.blob)
   order by id limit ${limit}`;

export const registryIds = async (tx: Tx) =>
  (await rows(tx, Type.Object({ id: Type.String() }))`select id from registry.registry order by id`).map((r) => r.id);

/** Unlinked blobs without a queue entry, should the entry have been lost. */
export const lostBlobs = (tx: Tx, olderThanSeconds: number) => rows(tx, Type.Object({ id: Type.Integer() }))`
  select b.id from registry.blob b
   where b.created_at < kernel.now() - make_interval(secs => ${olderThanSeconds})
     and not exists (select from registry.repository_blob l where l.blob_id = b.id)
     and not exists (select from registry.gc_queue q where q.kind = 'blob' and q.ref = b.id::text) limit 10000`;
