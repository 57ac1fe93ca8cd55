import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import { attachingTags } from '../rules/attachments.ts';
import { notingChanges } from './figures.ts';
import { listedSubjects } from './manifests.ts';

const BlobIdRow = Type.Object({ blob_id: Type.Integer() });
const DigestRow = Type.Object({ digest: Type.String() });

/** The blobs that a manifest needs and its repository links. */
export const blobsNeededBy = async (tx: Tx, repositoryId: number, digest: string): Promise<number[]> =>
  (
    await rows(tx, BlobIdRow)`
    select l.blob_id from registry.manifest m
      join registry.manifest_blob n on n.manifest_id = m.id
      join registry.blob b on b.digest = n.digest and b.state = 'live'
      join registry.repository_blob l on l.repository_id = m.repository_id and l.blob_id = b.id
     where m.repository_id = ${repositoryId} and m.digest = ${digest}`
  ).map((l) => l.blob_id);

const GoneRow = Type.Object({ digest: Type.String(), size: Type.Integer(), weight: Type.Union([Type.Integer(), Type.Null()]) });

/** Deletes the manifest's row with its tags. Undefined: no such manifest. */
export const deleteManifest = (tx: Tx, repositoryId: number, digest: string) => row(tx, GoneRow)`
    with gone as (
      delete from registry.manifest m where m.repository_id = ${repositoryId} and m.digest = ${digest}
      returning m.repository_id, m.digest, m.size, m.weight, (select count(*) from registry.tag t where t.manifest_id = m.id)::int as tags
    ), ${notingChanges(sql`select repository_id, -size, -tags from gone`)}
    select digest, size, weight from gone`;

/** `seen`: deletes the tag only if it has not been pushed since it was read. */
export const deleteTag = (tx: Tx, repositoryId: number, name: string, seen: { manifestId: number; updatedAt: string } | null) => row(
  tx,
  DigestRow,
)`
    with gone as (
      delete from registry.tag t using registry.manifest m
       where t.repository_id = ${repositoryId} and t.name = ${name} and m.id = t.manifest_id
         and (${seen === null} or (t.manifest_id = ${seen?.manifestId ?? null}::bigint and t.updated_at = ${seen?.updatedAt ?? null}::timestamptz))
      returning t.repository_id, m.digest
    ), ${notingChanges(sql`select repository_id, 0, -1 from gone`)}
    select digest from gone`;

/**
 * Locks the manifest against pushes, tags and indexes. A later statement checks what keeps it and sees the transactions that committed
 * before the lock.
 */
export const lockManifest = (tx: Tx, repositoryId: number, digest: string) =>
  run(tx)`select from registry.manifest where repository_id = ${repositoryId} and digest = ${digest} for update`;

/** An index that lists the manifest, if any. Reliable once the manifest is locked. */
export const parentOf = async (tx: Tx, repositoryId: number, digest: string): Promise<string | undefined> =>
  (
    await row(tx, DigestRow)`
    select p.digest from registry.manifest_child c join registry.manifest p on p.id = c.parent_id
     where c.repository_id = ${repositoryId} and c.digest = ${digest} limit 1`
  )?.digest;

/** Locks the manifest. False: a tag, except for `butFor`, or an index keeps it. */
export async function lockUnlessKept(tx: Tx, repositoryId: number, digest: string, butFor: readonly string[] = []): Promise<boolean> {
  const [, kept] = await Promise.all([
    lockManifest(tx, repositoryId, digest),
    row(tx, Type.Object({ yes: Type.Boolean() }))`
      select exists (select from registry.tag t join registry.manifest m on m.id = t.manifest_id
                      where m.repository_id = ${repositoryId} and m.digest = ${digest} and t.name <> all(${butFor}::text[]))
          or exists (select from registry.manifest_child where repository_id = ${repositoryId} and digest = ${digest}) as yes`,
  ]);
  return !kept!.yes;
}

/** Whether the repository has the manifest's subject, or the manifest was pushed after this turn. Reliable once the manifest is locked. */
export const isWanted = async (tx: Tx, repositoryId: number, digest: string, turn: number) =>
  (await row(tx, Type.Object({ yes: Type.Boolean() }))`
    select exists (select from registry.manifest m
                    where m.repository_id = ${repositoryId} and m.digest = ${digest}
                      and (m.pushed_turn > ${turn}
                        or exists (select from registry.manifest s where s.repository_id = m.repository_id and s.digest = m.subject))) as yes`)!
    .yes;

const TaggedRow = Type.Object({
  name: Type.String(),
  digest: Type.String(),
  mediaType: Type.String(),
  listedSubjects: Type.Array(Type.String()),
});

/** Tags whose names may attach something to this image, of manifests not pushed since this turn. rules/attachments.ts decides which do. */
export const tagsNaming = (tx: Tx, repositoryId: number, image: string, turn: number) => rows(tx, TaggedRow)`
    select t.name, m.digest, m.media_type as "mediaType", ${listedSubjects} as "listedSubjects" from registry.tag t join registry.manifest m on m.id = t.manifest_id
     where t.repository_id = ${repositoryId} and t.name = any(${attachingTags(image)}::text[])
       and (m.pushed_turn is null or m.pushed_turn <= ${turn}) order by t.name`;

const digestsIn = (found: { digest: string }[]) => found.map((m) => m.digest);

/** The children of an index. */
export const childrenOf = async (tx: Tx, repositoryId: number, digest: string) =>
  digestsIn(
    await rows(tx, DigestRow)`
      select c.digest from registry.manifest_child c join registry.manifest m on m.id = c.parent_id
       where m.repository_id = ${repositoryId} and m.digest = ${digest} order by c.digest`,
  );

/** The manifests whose subject is this one. */
export const referringTo = async (tx: Tx, repositoryId: number, digest: string) =>
  digestsIn(
    await rows(tx, DigestRow)`
      select digest from registry.manifest where repository_id = ${repositoryId} and subject = ${digest} order by digest`,
  );
