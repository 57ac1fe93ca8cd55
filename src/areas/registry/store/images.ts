import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../../../kernel/db/index.ts';
import type { Pagination } from '../../../kernel/pagination.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';
import { attachingTags } from '../rules/attachments.ts';
import { readLimits } from '../rules/image-contents.ts';
import { maxContentBytes } from '../rules/manifest.ts';
import { looksLikeDigest } from '../rules/names.ts';
import { sizeOfRepository, tagsOfRepository } from './figures.ts';

// What the control API shows of images; the data plane has its own queries.

const RepositoryListRow = Type.Object({
  name: Type.String(),
  tag_count: Type.Integer(),
  size_bytes: Type.Integer(),
  created_at: Type.String(),
});
export type RepositoryListRow = Static<typeof RepositoryListRow>;

/** What an image weighs, counted when it was pushed; while that is unknown, the manifest alone. */
const contentBytes = sql`least(coalesce(m.content_bytes, m.size), ${maxContentBytes}::bigint)`;

/** Names that begin so, by their index. Every character of a name sorts below `~`. */
const beginning = (column: Sql, prefix: string | undefined): Sql =>
  prefix === undefined ? sql`true` : sql`${column} >= ${prefix} and ${column} < ${`${prefix}~`}`;

/** Reads the figures that pushes and deletions maintain. */
export const repositoriesOf = (
  tx: Tx,
  org: string,
  registryId: string,
  { limit, after, prefix }: Pagination & { prefix?: string | undefined },
) => rows(tx, RepositoryListRow)`
  select r.name, r.created_at,
         ${tagsOfRepository} as tag_count, ${sizeOfRepository} as size_bytes
    from registry.repository r
   where r.org_id = ${org} and r.registry_id = ${registryId} and (${after}::text is null or r.name > ${after}) and ${beginning(sql`r.name`, prefix)}
   order by r.name limit ${limit + 1}`;

const TagListRow = Type.Object({
  name: Type.String(),
  digest: Type.String(),
  manifest_size: Type.Integer(),
  size_bytes: Type.Integer(),
  updated_at: Type.String(),
});
export type TagListRow = Static<typeof TagListRow>;

export const tagsOf = (tx: Tx, repositoryId: number, { limit, after, prefix }: Pagination & { prefix?: string | undefined }) => rows(
  tx,
  TagListRow,
)`
  select t.name, m.digest, m.size as manifest_size, ${contentBytes} as size_bytes, t.updated_at
    from registry.tag t join registry.manifest m on m.id = t.manifest_id
   where t.repository_id = ${repositoryId} and (${after}::text is null or t.name > ${after}) and ${beginning(sql`t.name`, prefix)}
   order by t.name limit ${limit + 1}`;

const ManifestListRow = Type.Object({
  id: Type.Integer(),
  digest: Type.String(),
  media_type: Type.String(),
  size_bytes: Type.Integer(),
  tags: Type.Array(Type.String()),
  referrer_types: Type.Array(Type.String()),
  attached_tags: Type.Array(Type.String()),
  created_at: Type.String(),
});
export type ManifestListRow = Static<typeof ManifestListRow>;

/** Referrers counted per image: an image may have any number. */
export const maxReferrersShown = 100;

/** Newest first. The content size was counted at the push; while it is unknown, the manifest's own size is shown. */
export const manifestsOf = (tx: Tx, repositoryId: number, slice: { limit: number; after: number | null }) => rows(tx, ManifestListRow)`
  select p.id, p.digest, p.media_type, p.created_at, least(coalesce(p.content_bytes, p.size), ${maxContentBytes}::bigint) as size_bytes,
         array(select t.name from registry.tag t where t.manifest_id = p.id order by t.name)::text[] as tags,
         array(select coalesce(m.predicate_type, m.artifact_type, m.config_type, '')
                 from registry.manifest m where m.repository_id = ${repositoryId} and m.subject = p.digest
                order by m.id limit ${maxReferrersShown}) as referrer_types,
         array(select t.name from registry.tag t
                where t.repository_id = ${repositoryId} and t.name = any(array[replace(p.digest, ':', '-') || '.sig', replace(p.digest, ':', '-') || '.sbom']))::text[] as attached_tags
    from (select id, digest, media_type, created_at, size, content_bytes from registry.manifest
           where repository_id = ${repositoryId} and (${slice.after}::bigint is null or id < ${slice.after})
           order by id desc limit ${slice.limit + 1}) p
   order by p.id desc`;

// One image for the control API: what it lists, what is attached to it, and what a purge of it would take along.

const Body = Type.Union([Type.Unsafe<Buffer>({}), Type.Null()]);
const Text = Type.Union([Type.String(), Type.Null()]);

const ImageRow = Type.Object({
  id: Type.Integer(),
  digest: Type.String(),
  media_type: Type.String(),
  artifact_type: Text,
  subject: Text,
  size: Type.Integer(),
  size_bytes: Type.Integer(),
  created_at: Type.String(),
  pulled_at: Text,
  tags: Type.Array(Type.String()),
  /** Null: too large to be read. */
  body: Body,
});
export type ImageRow = Static<typeof ImageRow>;

const maxTags = 1_000;

export const imageByReference = (tx: Tx, repositoryId: number, reference: string) => row(tx, ImageRow)`
  select m.id, m.digest, m.media_type, m.artifact_type, m.subject, m.size, ${contentBytes} as size_bytes, m.created_at, m.pulled_at,
         array(select t.name from registry.tag t where t.manifest_id = m.id order by t.name limit ${maxTags})::text[] as tags,
         case when m.size <= ${readLimits.manifestBytes} then m.body end as body
    from registry.manifest m
   where m.repository_id = ${repositoryId}
     and ${
       looksLikeDigest(reference)
         ? sql`m.digest = ${reference}`
         : sql`m.id = (select t.manifest_id from registry.tag t where t.repository_id = ${repositoryId} and t.name = ${reference})`
     }`;

const ChildRow = Type.Object({
  digest: Type.String(),
  is_here: Type.Boolean(),
  size_bytes: Type.Union([Type.Integer(), Type.Null()]),
  /** Null: not here, or beyond what is read of one index. */
  body: Body,
});
export type ChildRow = Static<typeof ChildRow>;

export const childrenShown = (tx: Tx, indexId: number) => rows(tx, ChildRow)`
  with listed as (
    select c.digest, m.id, m.size, ${contentBytes} as size_bytes,
           sum(m.size) filter (where m.size <= ${readLimits.manifestBytes}) over (order by c.digest) as read_bytes
      from registry.manifest_child c left join registry.manifest m on m.repository_id = c.repository_id and m.digest = c.digest
     where c.parent_id = ${indexId} order by c.digest limit ${readLimits.children}
  )
  select l.digest, l.id is not null as is_here, case when l.id is not null then l.size_bytes end as size_bytes, m.body
    from listed l left join registry.manifest m
      on m.id = l.id and l.size <= ${readLimits.manifestBytes} and l.read_bytes <= ${readLimits.totalBytes}
   order by l.digest`;

const AttachmentRow = Type.Object({
  digest: Type.String(),
  type: Type.String(),
  tag: Text,
  size_bytes: Type.Integer(),
  created_at: Type.String(),
});
export type AttachmentRow = Static<typeof AttachmentRow>;

const maxAttachments = 100;

/** By subject, or by a tag that names the image; one that is attached in both ways is told once. */
export const attachmentsShown = (tx: Tx, repositoryId: number, digest: string) => rows(tx, AttachmentRow)`
  select distinct on (m.id) m.digest, coalesce(m.predicate_type, m.artifact_type, m.config_type, '') as type, a.tag,
         ${contentBytes} as size_bytes, m.created_at
    from (select * from (select id, null as tag from registry.manifest
                          where repository_id = ${repositoryId} and subject = ${digest} order by id limit ${maxAttachments}) referring
          union all
          select manifest_id, name from registry.tag
           where repository_id = ${repositoryId} and name = any(${attachingTags(digest).slice(1)}::text[])) a
    join registry.manifest m on m.id = a.id
   order by m.id, a.tag nulls last limit ${maxAttachments}`;

const CandidateRow = Type.Object({
  id: Type.Integer(),
  digest: Type.String(),
  tags: Type.Array(Type.String()),
  once_tagged: Type.Boolean(),
  /** The indexes that list it, and its subject if that is here. */
  kept_by: Type.Array(Type.String()),
});
export type CandidateRow = Static<typeof CandidateRow>;

const maxKeepers = 100;

/** What these manifests list, and what is attached to them, with all that might keep it. */
export const purgeCandidates = (tx: Tx, repositoryId: number, going: readonly string[], limit: number) => rows(tx, CandidateRow)`
  select m.id, m.digest,
         array(select t.name from registry.tag t where t.manifest_id = m.id limit ${maxKeepers})::text[] as tags,
         exists (select from registry.once_tagged o where o.repository_id = m.repository_id and o.digest = m.digest) as once_tagged,
         array(select p.digest from registry.manifest_child c join registry.manifest p on p.id = c.parent_id
                where c.repository_id = m.repository_id and c.digest = m.digest limit ${maxKeepers})::text[]
         || array(select s.digest from registry.manifest s where s.repository_id = m.repository_id and s.digest = m.subject)::text[] as kept_by
    from registry.manifest m
   where m.repository_id = ${repositoryId} and m.digest <> all(${going}::text[])
     and m.digest in (
       select c.digest from registry.manifest p join registry.manifest_child c on c.parent_id = p.id
        where p.repository_id = ${repositoryId} and p.digest = any(${going}::text[])
       union select r.digest from registry.manifest r where r.repository_id = ${repositoryId} and r.subject = any(${going}::text[])
       union select a.digest from registry.tag t join registry.manifest a on a.id = t.manifest_id
        where t.repository_id = ${repositoryId} and t.name = any(${going.flatMap(attachingTags)}::text[]))
   order by m.id limit ${limit}`;

/** The bytes of these manifests, and of layers that no other manifest of the repository needs. */
export const freedBytes = async (tx: Tx, repositoryId: number, ids: readonly number[]): Promise<number> =>
  (await row(tx, Type.Object({ bytes: Type.Integer() }))`
    select ((select coalesce(sum(m.size), 0) from registry.manifest m where m.id = any(${ids}::bigint[]))
          + (select coalesce(sum(b.size), 0)
               from (select distinct n.digest from registry.manifest_blob n
                      where n.manifest_id = any(${ids}::bigint[])
                        and not exists (select from registry.manifest_blob o
                                         where o.repository_id = ${repositoryId} and o.digest = n.digest and o.manifest_id <> all(${ids}::bigint[]))) alone
               join registry.blob b on b.digest = alone.digest and b.state = 'live'
               join registry.repository_blob l on l.repository_id = ${repositoryId} and l.blob_id = b.id))::bigint as bytes`)!.bytes;
