import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import { notingChanges } from './figures.ts';

export const BlobRow = Type.Object({ id: Type.Integer(), digest: Type.String(), size: Type.Integer(), storage_key: Type.String() });
export type BlobRow = Static<typeof BlobRow>;

/** The blob that clients of a repository see under this digest. */
export const linkedBlob = (tx: Tx, repositoryId: number, digest: string) => row(tx, BlobRow)`
  select b.id, b.digest, b.size, b.storage_key
    from registry.blob b join registry.repository_blob l on l.blob_id = b.id
   where l.repository_id = ${repositoryId} and b.digest = ${digest} and b.state = 'live'`;

/**
 * Records that a client relies on the link and may base a push on it; the link no longer belongs to the cache alone. False: the link is
 * gone.
 */
export const touchLink = async (tx: Tx, repositoryId: number, blobId: number) =>
  (await run(tx)`
    update registry.repository_blob set touched_at = kernel.now(), cached = false
     where repository_id = ${repositoryId} and blob_id = ${blobId}`) > 0;

/** The live copy, with its row locked FOR SHARE: garbage collection cannot delete it until this transaction ends. */
export const shareBlob = (tx: Tx, digest: string) => row(tx, BlobRow)`
  select id, digest, size, storage_key from registry.blob where digest = ${digest} and state = 'live' for share`;

/** The id is part of the storage key, so it is needed before the row is inserted. */
export const nextBlobId = async (tx: Tx): Promise<number> =>
  (await row(tx, Type.Object({ id: Type.Integer() }))`select nextval(pg_get_serial_sequence('registry.blob', 'id')) as id`)!.id;

/** Undefined when another upload of the same content was faster. */
export const insertBlob = (tx: Tx, blob: BlobRow) => row(tx, BlobRow)`
  insert into registry.blob (id, digest, size, storage_key, created_at) overriding system value
  values (${blob.id}, ${blob.digest}, ${blob.size}, ${blob.storage_key}, kernel.now())
  on conflict (digest) where state = 'live' do nothing
  returning id, digest, size, storage_key`;

/**
 * Links a blob whose row is locked. `cached`: an upstream sent it; a link that was or is pushed stays pushed. True when the link is new.
 */
export const linkBlob = async (tx: Tx, repositoryId: number, registryId: string, blobId: number, cached = false) =>
  (await row(tx, Type.Object({ fresh: Type.Boolean() }))`
    with linked as (
      insert into registry.repository_blob (repository_id, registry_id, blob_id, touched_at, cached)
      values (${repositoryId}, ${registryId}, ${blobId}, kernel.now(), ${cached})
      on conflict (repository_id, blob_id) do update
         set touched_at = excluded.touched_at, cached = repository_blob.cached and excluded.cached
      returning repository_id, blob_id, xmax::text = '0' as fresh
    ), ${notingChanges(sql`select l.repository_id, b.size, 0 from linked l join registry.blob b on b.id = l.blob_id where l.fresh`)}
    select fresh from linked`)!.fresh;

/** Whether another repository of the registry links the blob. Reliable only under the registry's row lock. */
export const linkedElsewhere = async (tx: Tx, registryId: string, repositoryId: number, blobId: number) =>
  (await row(tx, Type.Object({ yes: Type.Boolean() }))`
    select exists (select from registry.repository_blob
                    where blob_id = ${blobId} and registry_id = ${registryId} and repository_id <> ${repositoryId}) as yes`)!.yes;

const SourceRow = Type.Object({ repository: Type.String(), registry_id: Type.String() });

/** Repositories of these registries that hold the digest: sources for a mount without a named source. */
export const holdersOf = (tx: Tx, digest: string, registryIds: string[]) => rows(tx, SourceRow)`
  select r.name as repository, r.registry_id
    from registry.blob b join registry.repository_blob l on l.blob_id = b.id join registry.repository r on r.id = l.repository_id
   where b.digest = ${digest} and b.state = 'live' and r.registry_id = any(${registryIds}::text[])
   order by r.id limit 100`;

const HeldRow = Type.Object({ digest: Type.String() });

/** The subset of these digests that the repository links. The links are locked FOR SHARE, so that garbage collection waits. */
export const shareLinks = (tx: Tx, repositoryId: number, digests: string[]) => rows(tx, HeldRow)`
  select b.digest from registry.repository_blob l join registry.blob b on b.id = l.blob_id and b.state = 'live'
   where l.repository_id = ${repositoryId} and b.digest = any(${digests}::text[])
   order by l.blob_id for share of l`;

export const isReferenced = async (tx: Tx, repositoryId: number, digest: string) =>
  (await row(tx, Type.Object({ yes: Type.Boolean() }))`
    select exists (select from registry.manifest_blob where repository_id = ${repositoryId} and digest = ${digest}) as yes`)!.yes;

const LinkRow = Type.Object({
  repository_id: Type.Integer(),
  blob_id: Type.Integer(),
  registry_id: Type.String(),
  digest: Type.String(),
  size: Type.Integer(),
  cached: Type.Boolean(),
  due: Type.Boolean(),
  due_at: Type.String(),
});
export type LinkRow = Static<typeof LinkRow>;

/** A link, locked FOR UPDATE. `due`: it was not touched within the delay. */
export const lockLink = (tx: Tx, repositoryId: number, blobId: number, delaySeconds: number) => row(tx, LinkRow)`
  select l.repository_id, l.blob_id, l.registry_id, b.digest, b.size, l.cached,
         l.touched_at + make_interval(secs => ${delaySeconds}) as due_at,
         l.touched_at + make_interval(secs => ${delaySeconds}) <= kernel.now() as due
    from registry.repository_blob l join registry.blob b on b.id = l.blob_id
   where l.repository_id = ${repositoryId} and l.blob_id = ${blobId} for update of l`;

export const deleteLink = (tx: Tx, repositoryId: number, blobId: number) => run(tx)`
  with gone as (delete from registry.repository_blob where repository_id = ${repositoryId} and blob_id = ${blobId} returning repository_id, blob_id),
       ${notingChanges(sql`select g.repository_id, -b.size, 0 from gone g join registry.blob b on b.id = g.blob_id`)}
  select from gone`;

const StoredRow = Type.Object({ id: Type.Integer(), storage_key: Type.String() });

/** The objects that a backup must contain. Dying blobs are invisible and may already be deleted. */
export async function* liveKeys(tx: Tx): AsyncGenerator<string> {
  for (let last = 0; ; ) {
    const some = await rows(tx, StoredRow)`
      select id, storage_key from registry.blob where state = 'live' and id > ${last} order by id limit 2000`;
    for (const { storage_key } of some) yield storage_key;
    if (!some.length) return;
    last = some.at(-1)!.id;
  }
}
