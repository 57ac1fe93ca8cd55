import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import type { Sql } from '../../../kernel/sql.ts';
import { sql } from '../../../kernel/sql.ts';

// Repositories being removed: their row has no registry any more, and their content is deleted in batches.

const RemovedRow = Type.Object({ id: Type.Integer(), org_id: Type.String(), removed_from: Type.String() });
export type RemovedRow = Static<typeof RemovedRow>;

/**
 * Detaches the repository from its registry and frees its name. Waits for transactions that store something in it. Undefined: no such
 * repository.
 */
export const detachRepository = (tx: Tx, registryId: string, name: string) => row(tx, RemovedRow)`
  update registry.repository set removed_from = registry_id, registry_id = null
   where registry_id = ${registryId} and name = ${name} returning id, org_id, removed_from`;

/**
 * The first removed repository of the next organization, locked. One that another server holds is skipped, as are `skipped` ones and those
 * that only wait for the bytes of their uploads to be deleted.
 */
export async function lockRemoved(tx: Tx, afterOrg: string | null, skipped: readonly number[]) {
  const first = (after: string | null) => row(tx, RemovedRow)`
    select id, org_id, removed_from from registry.repository r
     where removed_from is not null and (${after}::text is null or org_id collate "C" > ${after}) and id <> all(${skipped}::bigint[])
       and (not exists (select from registry.upload c where c.repository_id = r.id)
         or exists (select from registry.manifest c where c.repository_id = r.id)
         or exists (select from registry.tag c where c.repository_id = r.id)
         or exists (select from registry.once_tagged c where c.repository_id = r.id)
         or exists (select from registry.doomed_manifest c where c.repository_id = r.id)
         or exists (select from registry.cache_entry c where c.repository_id = r.id)
         or exists (select from registry.repository_blob c where c.repository_id = r.id)
         or exists (select from registry.promised_blob c where c.repository_id = r.id))
     order by org_id collate "C", id limit 1 for no key update skip locked`;
  return (await first(afterOrg)) ?? (afterOrg === null ? undefined : first(null));
}

/**
 * Thrown by a transaction that would store something in a removed repository. It has the code of a foreign key violation, so the
 * transaction is retried and may create the repository again.
 */
class RepositoryGone extends Error {
  readonly code = '23503';

  constructor() {
    super('the repository is being deleted');
    this.name = 'RepositoryGone';
  }
}

/** Called first by every transaction that stores something in a repository: it cannot be removed until the transaction ends. */
export async function shareRepository(tx: Tx, id: number): Promise<void> {
  if ((await run(tx)`select from registry.repository where id = ${id} and removed_from is null for key share`) === 0)
    throw new RepositoryGone();
}

const BlobIdRow = Type.Object({ blob_id: Type.Integer() });

const deleteBlobRows = async (tx: Tx, table: Sql, id: number, limit: number): Promise<number[]> =>
  (
    await rows(tx, BlobIdRow)`
    delete from ${table} where repository_id = ${id}
       and blob_id = any(array(select blob_id from ${table} where repository_id = ${id} order by blob_id limit ${limit}))
    returning blob_id`
  ).map((b) => b.blob_id);

/** Deletes a batch of links. Returns the blob ids. */
export const deleteLinks = (tx: Tx, id: number, limit: number) => deleteBlobRows(tx, sql`registry.repository_blob`, id, limit);
/** Deletes a batch of promises. Returns the blob ids. */
export const deletePromises = (tx: Tx, id: number, limit: number) => deleteBlobRows(tx, sql`registry.promised_blob`, id, limit);

const deleteRowsOf = (table: Sql, key: Sql) => (tx: Tx, id: number, limit: number) =>
  run(tx)`
  delete from ${table} where repository_id = ${id}
     and ${key} = any(array(select ${key} from ${table} where repository_id = ${id} order by ${key} limit ${limit}))`;

/**
 * Each deletes a batch of rows without quota and returns their number. Tags are among them, because an image may have any number of tags,
 * too many for one transaction.
 */
export const uncountedRows = [
  deleteRowsOf(sql`registry.tag`, sql`name`),
  deleteRowsOf(sql`registry.once_tagged`, sql`digest`),
  deleteRowsOf(sql`registry.doomed_manifest`, sql`digest`),
  deleteRowsOf(sql`registry.cache_entry`, sql`tag`),
];

const GoneRow = Type.Object({
  digest: Type.String(),
  size: Type.Integer(),
  weight: Type.Union([Type.Integer(), Type.Null()]),
  found: Type.Integer(),
});

/** Deletes a batch of manifests, limited by rows and by weight; at least one. `isCut`: the weight was the limit. */
export async function deleteManifests(tx: Tx, id: number, { maxRows, maxBytes }: { maxRows: number; maxBytes: number }) {
  const gone = await rows(tx, GoneRow)`
    with slice as (
      select m.id, row_number() over (order by digest) as place, sum(coalesce(weight, size)) over (order by digest) as bytes
        from (select id, digest, weight, size from registry.manifest where repository_id = ${id} order by digest limit ${maxRows}) m
    ), gone as (
      delete from registry.manifest where id = any(array(select id from slice where place = 1 or bytes <= ${maxBytes}))
      returning digest, size, weight
    )
    select digest, size, weight, (select count(*) from slice)::int as found from gone`;
  return { gone, isCut: gone.length < (gone[0]?.found ?? 0) };
}

/** Bytes of these blobs that no repository of the registry links. Reliable only under the registry's row lock. */
export const unlinkedBytes = async (tx: Tx, registryId: string, blobIds: number[]) =>
  (await row(tx, Type.Object({ bytes: Type.Integer() }))`
    select coalesce(sum(b.size), 0)::bigint as bytes from registry.blob b
     where b.id = any(${blobIds}::bigint[])
       and not exists (select from registry.repository_blob l where l.blob_id = b.id and l.registry_id = ${registryId})`)!.bytes;

/** Deletes the row of an empty repository. */
export const deleteRepository = (tx: Tx, id: number) => run(tx)`delete from registry.repository where id = ${id}`;
