import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import type { Sql } from '../../../kernel/sql.ts';
import { sql } from '../../../kernel/sql.ts';

// A repository that is being removed: its row has no registry any more, and what it held goes in portions.

const RemovedRow = Type.Object({ id: Type.Integer(), org_id: Type.String(), removed_from: Type.String() });
export type RemovedRow = Static<typeof RemovedRow>;

/** Takes the repository out of its registry; its name is free. Waits for transactions that store something in it. Undefined: it is not there. */
export const detachRepository = (tx: Tx, registryId: string, name: string) => row(tx, RemovedRow)`
  update registry.repository set removed_from = registry_id, registry_id = null
   where registry_id = ${registryId} and name = ${name} returning id, org_id, removed_from`;

/** The first of the next organization after this one, or of the first of all, locked. One that another server has in hand is passed over. */
export async function lockRemoved(tx: Tx, afterOrg: string | null) {
  const first = (after: string | null) => row(tx, RemovedRow)`
    select id, org_id, removed_from from registry.repository
     where removed_from is not null and (${after}::text is null or org_id collate "C" > ${after})
     order by org_id collate "C", id limit 1 for no key update skip locked`;
  return (await first(afterOrg)) ?? (afterOrg === null ? undefined : first(null));
}

/** Thrown by a transaction that would store something in a repository that is gone. It has the code of a violated foreign key, because it is
 *  one in all but name: the transaction is run again, and whoever can makes the repository anew. */
class RepositoryGone extends Error {
  readonly code = '23503';

  constructor() {
    super('the repository is being deleted');
    this.name = 'RepositoryGone';
  }
}

/** Every transaction that stores something in a repository calls this first: until it ends the repository is not removed. */
export async function shareRepository(tx: Tx, id: number): Promise<void> {
  if ((await run(tx)`select from registry.repository where id = ${id} and removed_from is null for key share`) === 0)
    throw new RepositoryGone();
}

const ReservedRow = Type.Object({ reserved: Type.Integer() });

/** Some of its uploads: what each had reserved. */
export const deleteUploads = (tx: Tx, id: number, limit: number) => rows(tx, ReservedRow)`
  delete from registry.upload where id = any(array(select id from registry.upload where repository_id = ${id} order by id limit ${limit}))
  returning reserved`;

const BlobIdRow = Type.Object({ blob_id: Type.Integer() });

const deleteBlobRows = async (tx: Tx, table: Sql, id: number, limit: number): Promise<number[]> =>
  (
    await rows(tx, BlobIdRow)`
    delete from ${table} where repository_id = ${id}
       and blob_id = any(array(select blob_id from ${table} where repository_id = ${id} order by blob_id limit ${limit}))
    returning blob_id`
  ).map((b) => b.blob_id);

/** Some of its links: the blobs. */
export const deleteLinks = (tx: Tx, id: number, limit: number) => deleteBlobRows(tx, sql`registry.repository_blob`, id, limit);
/** Some of its promises: the blobs. */
export const deletePromises = (tx: Tx, id: number, limit: number) => deleteBlobRows(tx, sql`registry.promised_blob`, id, limit);

const deleteNotes = (table: Sql, key: Sql) => (tx: Tx, id: number, limit: number) =>
  run(tx)`
  delete from ${table} where repository_id = ${id}
     and ${key} = any(array(select ${key} from ${table} where repository_id = ${id} order by ${key} limit ${limit}))`;

/** Each deletes some rows that count nowhere, and returns how many. Tags are among them: an image may have as many as one likes, and they
 *  must not all go with it in one transaction. */
export const notes = [
  deleteNotes(sql`registry.tag`, sql`name`),
  deleteNotes(sql`registry.once_tagged`, sql`digest`),
  deleteNotes(sql`registry.doomed_manifest`, sql`digest`),
  deleteNotes(sql`registry.cache_entry`, sql`tag`),
];

const GoneRow = Type.Object({
  digest: Type.String(),
  size: Type.Integer(),
  weight: Type.Union([Type.Integer(), Type.Null()]),
  found: Type.Integer(),
});

/** Some of its manifests, `most` at most, and as many as weigh `mostBytes` together; at least one. `isCut`: their weight was the bound. */
export async function deleteManifests(tx: Tx, id: number, { most, mostBytes }: { most: number; mostBytes: number }) {
  const gone = await rows(tx, GoneRow)`
    with slice as (
      select m.id, row_number() over (order by digest) as place, sum(coalesce(weight, size)) over (order by digest) as bytes
        from (select id, digest, weight, size from registry.manifest where repository_id = ${id} order by digest limit ${most}) m
    ), gone as (
      delete from registry.manifest where id = any(array(select id from slice where place = 1 or bytes <= ${mostBytes}))
      returning digest, size, weight
    )
    select digest, size, weight, (select count(*) from slice)::int as found from gone`;
  return { gone, isCut: gone.length < (gone[0]?.found ?? 0) };
}

/** Of these blobs, what no repository of the registry links. Only sure under the registry's row lock. */
export const unlinkedBytes = async (tx: Tx, registryId: string, blobIds: number[]) =>
  (await row(tx, Type.Object({ bytes: Type.Integer() }))`
    select coalesce(sum(b.size), 0)::bigint as bytes from registry.blob b
     where b.id = any(${blobIds}::bigint[])
       and not exists (select from registry.repository_blob l where l.blob_id = b.id and l.registry_id = ${registryId})`)!.bytes;

/** Its row, once it holds nothing. */
export const deleteRepository = (tx: Tx, id: number) => run(tx)`delete from registry.repository where id = ${id}`;
