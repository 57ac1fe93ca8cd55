import Type from 'typebox';
import type { Caches } from '../../../kernel/cache.ts';
import { row, rows, run, type Tx } from '../../../kernel/db.ts';
import { book, recount } from '../engine/quota.ts';
import { attachedBy, attachingTags } from '../rules/attachments.ts';
import { isImmutable } from '../rules/immutable.ts';
import { topics } from '../rules/topics.ts';
import { deleteLink, type LinkRow, linkedElsewhere } from './blobs.ts';
import { listedSubjects, manifestElsewhere } from './manifests.ts';
import { linkRef, review } from './queue.ts';
import type { RepositoryRow } from './repositories.ts';

// How things leave a registry. Each keeps three promises in one transaction: the figures of the quota, what garbage collection must
// look at, and what other processes have to forget. Locks: link or manifest first, the registry's row last.

/** Takes a blob out of a repository. The lock on the link and the proof that no image needs it are the caller's. */
export async function unlink(tx: Tx, caches: Caches, link: LinkRow) {
  await deleteLink(tx, link.repository_id, link.blob_id);
  await review(tx, 'blob', [String(link.blob_id)], 0);
  await caches.drop(tx, topics.blob(link.repository_id, link.digest));
  await book(tx, link.registry_id, {
    size: link.size,
    sign: -1,
    elsewhere: () => linkedElsewhere(tx, link.registry_id, link.repository_id, link.blob_id),
  });
}

const GoneRow = Type.Object({ id: Type.Integer(), size: Type.Integer() });
const LinkIdRow = Type.Object({ blob_id: Type.Integer() });

/** How soon what an image leaves behind may go: with `graceSeconds` 0 its room is free at once, also of what a push was told of
 *  lately; that is promised to the push, and stays without being counted. */
export interface Leaving {
  delaySeconds: number;
  graceSeconds?: 0;
}

/** Deletes the row and tells everybody, but books nothing yet: the registry's row is locked last, also when several go. */
async function dropManifest(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  digest: string,
  leaving: Leaving,
): Promise<number | undefined> {
  const links = await rows(tx, LinkIdRow)`
    select l.blob_id from registry.manifest m
      join registry.manifest_blob n on n.manifest_id = m.id
      join registry.blob b on b.digest = n.digest and b.state = 'live'
      join registry.repository_blob l on l.repository_id = m.repository_id and l.blob_id = b.id
     where m.repository_id = ${repository.id} and m.digest = ${digest}`;
  const gone = await row(tx, GoneRow)`
    delete from registry.manifest where repository_id = ${repository.id} and digest = ${digest} returning id, size`;
  if (!gone) return undefined;
  const refs = links.map((l) => linkRef(repository.id, l.blob_id));
  await review(tx, 'link', refs, leaving.delaySeconds, leaving.graceSeconds ?? null);
  // Its tags went with it: everything remembered of the repository's names is in doubt.
  await caches.drop(tx, topics.repository(repository.id));
  return gone.size;
}

const bookManifest = (tx: Tx, { id, registry_id }: RepositoryRow, digest: string, size: number) =>
  book(tx, registry_id, { size, sign: -1, elsewhere: () => manifestElsewhere(tx, registry_id, id, digest) });

/** One manifest with its tags. Its layers stay linked until garbage collection has looked at them. False: it is not there. */
export async function removeManifest(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  digest: string,
  leaving: Leaving,
): Promise<boolean> {
  const size = await dropManifest(tx, caches, repository, digest, leaving);
  if (size !== undefined) await bookManifest(tx, repository, digest, size);
  return size !== undefined;
}

/** `seen`: only while it is still that one, which nobody has pushed since. */
export async function removeTag(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  name: string,
  seen: { manifestId: number; updatedAt: string } | null = null,
): Promise<{ digest: string } | undefined> {
  const gone = await row(tx, Type.Object({ digest: Type.String() }))`
    delete from registry.tag t using registry.manifest m
     where t.repository_id = ${repository.id} and t.name = ${name} and m.id = t.manifest_id
       and (${seen === null} or (t.manifest_id = ${seen?.manifestId ?? null}::bigint and t.updated_at = ${seen?.updatedAt ?? null}::timestamptz))
    returning m.digest`;
  if (gone) await caches.drop(tx, topics.tag(repository.id, name));
  return gone;
}

const DigestRow = Type.Object({ digest: Type.String() });

/** Locks the manifest: whoever pushes it, tags it or lists it waits. What keeps it is asked by a later statement, which sees what
 *  those have done that came before. */
export const lockManifest = (tx: Tx, repositoryId: number, digest: string) =>
  run(tx)`select from registry.manifest where repository_id = ${repositoryId} and digest = ${digest} for update`;

/** An index that still lists the manifest, if any. Sure once the manifest is locked. */
export const parentOf = async (tx: Tx, repositoryId: number, digest: string): Promise<string | undefined> =>
  (
    await row(tx, DigestRow)`
    select p.digest from registry.manifest_child c join registry.manifest p on p.id = c.parent_id
     where c.repository_id = ${repositoryId} and c.digest = ${digest} limit 1`
  )?.digest;

/** Whether a tag (but for these) or an index keeps the manifest, which is locked from then on. */
export async function isKept(tx: Tx, repositoryId: number, digest: string, butFor: readonly string[] = []): Promise<boolean> {
  const [, kept] = await Promise.all([
    lockManifest(tx, repositoryId, digest),
    row(tx, Type.Object({ yes: Type.Boolean() }))`
      select exists (select from registry.tag t join registry.manifest m on m.id = t.manifest_id
                      where m.repository_id = ${repositoryId} and m.digest = ${digest} and t.name <> all(${butFor}::text[]))
          or exists (select from registry.manifest_child where repository_id = ${repositoryId} and digest = ${digest}) as yes`,
  ]);
  return kept!.yes;
}

/** Whether the repository has the image that a manifest refers to. */
const isAttached = async (tx: Tx, repositoryId: number, digest: string) =>
  (await row(tx, Type.Object({ yes: Type.Boolean() }))`
    select exists (select from registry.manifest m join registry.manifest s on s.repository_id = m.repository_id and s.digest = m.subject
                    where m.repository_id = ${repositoryId} and m.digest = ${digest}) as yes`)!.yes;

const TaggedRow = Type.Object({
  name: Type.String(),
  digest: Type.String(),
  mediaType: Type.String(),
  listedSubjects: Type.Array(Type.String()),
});

/** Takes away the tags that attach something to this image, but for immutable ones. Returns the digests they stood for. */
async function detach(tx: Tx, caches: Caches, repository: RepositoryRow, image: string): Promise<string[]> {
  const tags = await rows(tx, TaggedRow)`
    select t.name, m.digest, m.media_type as "mediaType", ${listedSubjects} as "listedSubjects" from registry.tag t join registry.manifest m on m.id = t.manifest_id
     where t.repository_id = ${repository.id} and t.name = any(${attachingTags(image)}::text[]) order by t.name`;
  const detached: string[] = [];
  for (const tag of tags) {
    if (attachedBy(tag.name, tag) === undefined || isImmutable(repository.immutable_tags, repository.name, tag.name)) continue;
    const removed = await removeTag(tx, caches, repository, tag.name);
    if (removed) detached.push(removed.digest);
  }
  return detached;
}

/** The manifest, what is attached to it (signatures, SBOMs) and, of an index, the children that nothing else keeps; all the way down.
 *  Returns the digests that went. */
export async function purgeManifest(
  tx: Tx,
  caches: Caches,
  repository: RepositoryRow,
  digest: string,
  leaving: Leaving,
): Promise<string[]> {
  const gone = new Map<string, number>();
  const waiting = [digest];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const children = await rows(tx, DigestRow)`
      select c.digest from registry.manifest_child c join registry.manifest m on m.id = c.parent_id
       where m.repository_id = ${repository.id} and m.digest = ${next} order by c.digest`;
    const referrers = await rows(tx, DigestRow)`
      select digest from registry.manifest where repository_id = ${repository.id} and subject = ${next} order by digest`;
    const size = await dropManifest(tx, caches, repository, next, leaving);
    if (size === undefined) continue;
    gone.set(next, size);
    const attached = [...referrers.map((r) => r.digest), ...(await detach(tx, caches, repository, next))];
    for (const each of attached) if (!(await isKept(tx, repository.id, each))) waiting.push(each);
    // An index of referrers lists what belongs to another image: that stays while the image does.
    for (const { digest: child } of children)
      if (!(await isKept(tx, repository.id, child)) && !(await isAttached(tx, repository.id, child))) waiting.push(child);
  }
  for (const [each, size] of gone) await bookManifest(tx, repository, each, size);
  return [...gone.keys()];
}

/** A whole repository: manifests, tags, uploads and links. False: it is not there. */
export async function removeRepository(tx: Tx, caches: Caches, registryId: string, name: string): Promise<boolean> {
  const found = await row(tx, Type.Object({ id: Type.Integer() }))`
    select id from registry.repository where registry_id = ${registryId} and name = ${name} for update`;
  if (!found) return false;
  // What was only promised goes as well: its entry in the queue waits for the end of a promise that nobody can redeem any more.
  const blobs = await rows(tx, LinkIdRow)`
    select blob_id from registry.repository_blob where repository_id = ${found.id}
     union select blob_id from registry.promised_blob where repository_id = ${found.id}`;
  await run(tx)`delete from registry.repository where id = ${found.id}`;
  await review(
    tx,
    'blob',
    blobs.map((b) => String(b.blob_id)),
    0,
  );
  await caches.drop(tx, topics.repository(found.id));
  await recount(tx, registryId);
  return true;
}
