import Type from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';
import { BlobRow, type LinkRow } from './blobs.ts';
import { enqueueReview } from './queue.ts';

// A client that was told that a layer exists may be about to push an image that needs it. A purge frees the quota at once and replaces the
// link by a promise: the bytes stay, invisible and uncounted, and the push of the image links them again.

/**
 * Keeps the blob until `until` for clients that were told of it. Promises of a registry are limited by its quota; otherwise repeated pushes
 * and purges would fill the disk uncounted.
 */
export const promiseBlob = (tx: Tx, link: LinkRow, until: string) => run(tx)`
  insert into registry.promised_blob (repository_id, blob_id, registry_id, until)
  select ${link.repository_id}, ${link.blob_id}, g.id, ${until}::timestamptz from registry.registry g
   where g.id = ${link.registry_id} and exists (select from registry.repository r where r.id = ${link.repository_id} and r.removed_from is null)
     and g.quota_bytes >= ${link.size} + (select coalesce(sum(b.size), 0) from registry.promised_blob p join registry.blob b on b.id = p.blob_id
                                           where p.registry_id = g.id and p.until > kernel.now()
                                             and (p.repository_id, p.blob_id) <> (${link.repository_id}, ${link.blob_id}))
  on conflict (repository_id, blob_id) do update set until = greatest(promised_blob.until, excluded.until)`;

/** Redeems the promises for these digests. The blobs' rows are locked FOR SHARE. */
export async function redeemPromises(tx: Tx, repositoryId: number, digests: string[]) {
  const held = await rows(tx, BlobRow)`
    select b.id, b.digest, b.size, b.storage_key from registry.promised_blob p join registry.blob b on b.id = p.blob_id and b.state = 'live'
     where p.repository_id = ${repositoryId} and b.digest = any(${digests}::text[]) and p.until > kernel.now()
     order by b.id for share of b`;
  await run(tx)`
    delete from registry.promised_blob where repository_id = ${repositoryId} and blob_id = any(${held.map((b) => b.id)}::bigint[])`;
  return held;
}

/** The repository links the blob again; from now on the link decides how long it stays. */
export const fulfilPromise = (tx: Tx, repositoryId: number, blobId: number) =>
  run(tx)`delete from registry.promised_blob where repository_id = ${repositoryId} and blob_id = ${blobId}`;

/** A client deletes the digest: its promises end, and garbage collection reviews the blob now. */
export async function withdrawPromise(tx: Tx, { id, registry_id }: { id: number; registry_id: string }, digest: string) {
  const withdrawn = await rows(tx, Type.Object({ blob_id: Type.Integer() }))`
    delete from registry.promised_blob p using registry.blob b
     where p.repository_id = ${id} and b.id = p.blob_id and b.digest = ${digest} returning p.blob_id`;
  await enqueueReview(
    tx,
    registry_id,
    'blob',
    withdrawn.map((p) => String(p.blob_id)),
    0,
  );
}

const UntilRow = Type.Object({ until: Type.String() });

/** The end of the latest promise of a blob, which the caller has locked. Expired promises are deleted. */
export async function promisedUntil(tx: Tx, blobId: number): Promise<string | undefined> {
  await run(tx)`delete from registry.promised_blob where blob_id = ${blobId} and until <= kernel.now()`;
  return (await rows(tx, UntilRow)`select until from registry.promised_blob where blob_id = ${blobId} order by until desc limit 1`)[0]
    ?.until;
}
