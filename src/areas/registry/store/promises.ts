import Type from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';
import { BlobRow, type LinkRow } from './blobs.ts';
import { review } from './queue.ts';

// A client that was told that a layer is here may be about to push an image that needs it. A purge frees the room at once, and leaves
// a promise in place of the link: the bytes stay, unseen and uncounted, and the image's own transaction links them again.

/** Until then the blob stays for whoever was told of it. A registry is promised as much as its quota at most: otherwise pushing and
 *  purging again and again would fill the disk without counting. */
export const promiseBlob = (tx: Tx, link: LinkRow, until: string) => run(tx)`
  insert into registry.promised_blob (repository_id, blob_id, registry_id, until)
  select ${link.repository_id}, ${link.blob_id}, g.id, ${until}::timestamptz from registry.registry g
   where g.id = ${link.registry_id} and exists (select from registry.repository r where r.id = ${link.repository_id} and r.removed_from is null)
     and g.quota_bytes >= ${link.size} + (select coalesce(sum(b.size), 0) from registry.promised_blob p join registry.blob b on b.id = p.blob_id
                                           where p.registry_id = g.id and p.until > kernel.now()
                                             and (p.repository_id, p.blob_id) <> (${link.repository_id}, ${link.blob_id}))
  on conflict (repository_id, blob_id) do update set until = greatest(promised_blob.until, excluded.until)`;

/** Takes what is promised of these digests: the rows of the blobs are shared, as for a link. */
export async function redeemPromises(tx: Tx, repositoryId: number, digests: string[]) {
  const held = await rows(tx, BlobRow)`
    select b.id, b.digest, b.size, b.storage_key from registry.promised_blob p join registry.blob b on b.id = p.blob_id and b.state = 'live'
     where p.repository_id = ${repositoryId} and b.digest = any(${digests}::text[]) and p.until > kernel.now()
     order by b.id for share of b`;
  await run(tx)`
    delete from registry.promised_blob where repository_id = ${repositoryId} and blob_id = any(${held.map((b) => b.id)}::bigint[])`;
  return held;
}

/** The repository links the blob again, and the link says from now on how long it stays. */
export const fulfilPromise = (tx: Tx, repositoryId: number, blobId: number) =>
  run(tx)`delete from registry.promised_blob where repository_id = ${repositoryId} and blob_id = ${blobId}`;

/** Somebody wants the digest gone: nobody gets it back here, and garbage collection looks at it now instead of then. */
export async function withdrawPromise(tx: Tx, { id, registry_id }: { id: number; registry_id: string }, digest: string) {
  const withdrawn = await rows(tx, Type.Object({ blob_id: Type.Integer() }))`
    delete from registry.promised_blob p using registry.blob b
     where p.repository_id = ${id} and b.id = p.blob_id and b.digest = ${digest} returning p.blob_id`;
  await review(
    tx,
    registry_id,
    'blob',
    withdrawn.map((p) => String(p.blob_id)),
    0,
  );
}

const UntilRow = Type.Object({ until: Type.String() });

/** Until when somebody may still come for the blob, which is locked; promises that have run out are forgotten. */
export async function promisedUntil(tx: Tx, blobId: number): Promise<string | undefined> {
  await run(tx)`delete from registry.promised_blob where blob_id = ${blobId} and until <= kernel.now()`;
  return (await rows(tx, UntilRow)`select until from registry.promised_blob where blob_id = ${blobId} order by until desc limit 1`)[0]
    ?.until;
}
