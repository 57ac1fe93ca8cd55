import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';

const DyingRow = Type.Object({
  id: Type.Integer(),
  digest: Type.String(),
  storage_key: Type.String(),
  state: Type.String(),
  linked: Type.Boolean(),
});

/** A blob, locked against whoever wants to link it; and whether anybody does. Undefined: it is gone. It is not waited for: who links it
 *  may wait for a link whose holder waits for the queue's entry, which is ours. */
export async function lockBlob(tx: Tx, id: number): Promise<Static<typeof DyingRow> | 'in use' | undefined> {
  const locked = await run(tx)`select from registry.blob where id = ${id} for update skip locked`;
  if (locked === 0) return (await knownBlobIds(tx, [id])).has(id) ? 'in use' : undefined;
  // The links are counted by a statement of its own, after the lock is ours: one that began before would not see the newest.
  return row(tx, DyingRow)`
    select id, digest, storage_key, state, exists (select from registry.repository_blob where blob_id = b.id) as linked
      from registry.blob b where id = ${id}`;
}

export const markDying = (tx: Tx, id: number) => run(tx)`update registry.blob set state = 'dying' where id = ${id}`;
export const deleteDying = (tx: Tx, id: number) => run(tx)`delete from registry.blob where id = ${id} and state = 'dying'`;

/** Which of these blob ids have a row, whatever its state. */
export const knownBlobIds = async (tx: Tx, ids: number[]) =>
  new Set(
    (await rows(tx, Type.Object({ id: Type.Integer() }))`select id from registry.blob where id = any(${ids}::bigint[])`).map((b) => b.id),
  );

const SampleRow = Type.Object({ id: Type.Integer(), digest: Type.String(), size: Type.Integer(), storage_key: Type.String() });

/** Some blobs from a random place on, oldest first. */
export const sampleBlobs = (tx: Tx, limit: number, largest: number) => rows(tx, SampleRow)`
  select id, digest, size, storage_key from registry.blob
   where state = 'live' and size <= ${largest}
     and id >= (select coalesce(min(id) + floor(random() * (max(id) - min(id) + 1))::bigint, 0) from registry.blob)
   order by id limit ${limit}`;

export const registryIds = async (tx: Tx) =>
  (await rows(tx, Type.Object({ id: Type.String() }))`select id from registry.registry order by id`).map((r) => r.id);

/** Dying blobs that nobody will come back to, should their queue entry have been lost. */
export const lostBlobs = (tx: Tx, olderThanSeconds: number) => rows(tx, Type.Object({ id: Type.Integer() }))`
  select b.id from registry.blob b
   where b.created_at < kernel.now() - make_interval(secs => ${olderThanSeconds})
     and not exists (select from registry.repository_blob l where l.blob_id = b.id)
     and not exists (select from registry.gc_queue q where q.kind = 'blob' and q.ref = b.id::text) limit 10000`;
