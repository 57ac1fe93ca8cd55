import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../kernel/db/index.ts';
import type { Pagination } from '../../../kernel/pagination.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';
import { maxContentBytes } from '../rules/manifest.ts';
import { sizeOfRepository, tagsOfRepository } from './figures.ts';

// Lists for the control API; the data plane has its own queries.

const RepositoryListRow = Type.Object({
  name: Type.String(),
  tag_count: Type.Integer(),
  size_bytes: Type.Integer(),
  created_at: Type.String(),
});
export type RepositoryListRow = Static<typeof RepositoryListRow>;

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
  select t.name, m.digest, m.size as manifest_size, least(coalesce(m.content_bytes, m.size), ${maxContentBytes}::bigint) as size_bytes, t.updated_at
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
