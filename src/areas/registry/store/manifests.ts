import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import { type Manifest, maxContentBytes, weightOf } from '../rules/manifest.ts';
import { notingChanges } from './figures.ts';

const MetaRow = Type.Object({
  id: Type.Integer(),
  digest: Type.String(),
  media_type: Type.String(),
  size: Type.Integer(),
  /** Fetched from an upstream and never pushed. */
  cached: Type.Boolean(),
});
export type MetaRow = Static<typeof MetaRow>;

export const manifestByDigest = (tx: Tx, repositoryId: number, digest: string) => row(tx, MetaRow)`
  select id, digest, media_type, size, cached from registry.manifest where repository_id = ${repositoryId} and digest = ${digest}`;

export const manifestByTag = (tx: Tx, repositoryId: number, tag: string) => row(tx, MetaRow)`
  select m.id, m.digest, m.media_type, m.size, m.cached
    from registry.tag t join registry.manifest m on m.id = t.manifest_id
   where t.repository_id = ${repositoryId} and t.name = ${tag}`;

/** By digest, not by row: a cached reference stays valid when a manifest is deleted and pushed again. */
export const bodyOf = async (tx: Tx, repositoryId: number, digest: string): Promise<Buffer | undefined> =>
  (
    await row(tx, Type.Object({ body: Type.Unsafe<Buffer>({}) }))`
    select body from registry.manifest where repository_id = ${repositoryId} and digest = ${digest}`
  )?.body;

/** The predicate type, if it is a URI that can be stored. */
const predicateOf = ({ annotations }: Manifest): string | null =>
  /^[!-~]{1,255}$/.exec(annotations?.['dev.sigstore.bundle.predicateType'] ?? '')?.[0] ?? null;

/**
 * Of a manifest `m`: fetched by the cache and not pushed since. For data older than the column `cached` this cannot be known, so such
 * manifests are neither evicted nor removed by retention.
 */
export const isFetched = sql`(m.cached or m.pushed_by is not distinct from 'cache')`;

/** An index is counted after it is stored, when its children are known. */
const contentOf = ({ blobs, children }: Manifest, size: number): number | null =>
  children.length > 0
    ? null
    : Math.min(
        maxContentBytes,
        blobs.reduce((sum, blob) => sum + blob.size, size),
      );

const IdRow = Type.Object({ id: Type.Integer() });
const KnownRow = Type.Object({ id: Type.Integer(), media_type: Type.String() });

/**
 * Inserts or locks the manifest's row. `fresh`: it is new. `mediaType`: the type of its first push. A pushed manifest no longer belongs to
 * the cache, is safe from earlier purges, and its age starts again.
 */
export async function putManifest(
  tx: Tx,
  m: { org: string; repositoryId: number; digest: string; body: Buffer; pushedBy: string; parsed: Manifest; cached: boolean },
): Promise<{ id: number; fresh: boolean; mediaType: string; weight: number }> {
  const { parsed } = m;
  const weight = weightOf(parsed, m.body.length);
  for (;;) {
    const fresh = await row(tx, IdRow)`
      with fresh as (insert into registry.manifest (org_id, repository_id, digest, media_type, artifact_type, config_type, subject, annotations, predicate_type, body, size, weight, content_bytes, pushed_by, created_at, cached, pushed_turn)
      values (${m.org}, ${m.repositoryId}, ${m.digest}, ${parsed.mediaType}, ${parsed.artifactType ?? null}, ${parsed.configType ?? null}, ${parsed.subject ?? null},
              ${parsed.annotations ? JSON.stringify(parsed.annotations) : null}::json, ${predicateOf(parsed)}, ${m.body}, ${m.body.length}, ${weight}, ${contentOf(parsed, m.body.length)}, ${m.pushedBy}, kernel.now(), ${m.cached}, nextval('registry.turn'))
      on conflict (repository_id, digest) do nothing
      returning id, repository_id, size), ${notingChanges(sql`select repository_id, size, 0 from fresh`)}
      select id from fresh`;
    if (fresh) {
      await insertReferences(tx, fresh.id, m.repositoryId, parsed);
      return { ...fresh, fresh: true, mediaType: parsed.mediaType, weight };
    }
    const known = await row(tx, KnownRow)`
      update registry.manifest m
         set pushed_turn = nextval('registry.turn'), cached = m.cached and ${m.cached},
             pushed_at = case when ${m.cached} then m.pushed_at else kernel.now() end,
             pushed_by = case when ${isFetched} and not ${m.cached} then ${m.pushedBy} else m.pushed_by end
       where m.repository_id = ${m.repositoryId} and m.digest = ${m.digest} returning m.id, m.media_type`;
    if (!known) continue; // deleted a moment ago
    return { id: known.id, fresh: false, mediaType: known.media_type, weight };
  }
}

/** The blobs and children that garbage collection must keep for the image. */
const insertReferences = (tx: Tx, id: number, repositoryId: number, { blobs, children }: Manifest) =>
  Promise.all([
    run(tx)`
      insert into registry.manifest_blob (manifest_id, repository_id, digest, size)
      select ${id}, ${repositoryId}, * from unnest(${blobs.map((b) => b.digest)}::text[], ${blobs.map((b) => b.size)}::bigint[])`,
    run(tx)`
      insert into registry.manifest_child (parent_id, repository_id, digest, size)
      select ${id}, ${repositoryId}, * from unnest(${children.map((c) => c.digest)}::text[], ${children.map((c) => c.size)}::bigint[])`,
  ]);

/** Of a manifest `m`: the subjects of its children, for rules/attachments.ts. */
export const listedSubjects = sql`
  array(select distinct coalesce(listed.subject, '') from registry.manifest_child c
          join registry.manifest listed on listed.repository_id = c.repository_id and listed.digest = c.digest where c.parent_id = m.id)::text[]`;

const LedToRow = Type.Object({ id: Type.Union([Type.Integer(), Type.Null()]), depth: Type.Integer() });

/**
 * The manifests below an index, level by level, each as often as it is listed. `id` null: not in the repository. At most `maxRows` rows and
 * `depth` levels are read, so indexes that list each other's children repeatedly cost no more than others.
 */
export const manifestsUnder = (tx: Tx, indexId: number, { maxRows, depth }: { maxRows: number; depth: number }) => rows(tx, LedToRow)`
  with recursive listed (id, depth) as (
    select m.id, 1 from registry.manifest_child c
      left join registry.manifest m on m.repository_id = c.repository_id and m.digest = c.digest where c.parent_id = ${indexId}
    union all
    select m.id, l.depth + 1 from listed l join registry.manifest_child c on c.parent_id = l.id
      left join registry.manifest m on m.repository_id = c.repository_id and m.digest = c.digest where l.depth < ${depth}
  )
  select id, depth from listed limit ${maxRows}`;

/** Locks the children of an index until it is stored and tagged: a deletion of a child waits and then sees the index. */
export const shareListed = (tx: Tx, ids: number[]) => run(tx)`
  select from registry.manifest where id = any(${ids}::bigint[]) order by digest for key share`;

/** The children of a pushed index belong to its pusher, including those that the cache fetched. */
export const keepListed = (tx: Tx, ids: number[], pushedBy: string) => run(tx)`
  update registry.manifest m set cached = false, pushed_by = ${pushedBy} where m.id = any(${ids}::bigint[]) and ${isFetched}`;

const ListingRow = Type.Object({
  tag: Type.String(),
  digest: Type.String(),
  mediaType: Type.String(),
  listedSubjects: Type.Array(Type.String()),
});

const LeadingRow = Type.Object({ id: Type.Integer(), depth: Type.Integer() });

/** The indexes above this manifest, nearest first, with the same limits as `manifestsUnder`. Reliable once the manifest is locked. */
export const indexesLeadingTo = (
  tx: Tx,
  repositoryId: number,
  digest: string,
  { maxRows, depth }: { maxRows: number; depth: number },
) => rows(tx, LeadingRow)`
  with recursive listing (id, depth) as (
    select parent_id, 1 from registry.manifest_child where repository_id = ${repositoryId} and digest = ${digest}
    union all
    select c.parent_id, l.depth + 1 from listing l join registry.manifest m on m.id = l.id
      join registry.manifest_child c on c.repository_id = m.repository_id and c.digest = m.digest where l.depth < ${depth}
  )
  select id, depth from listing limit ${maxRows}`;

/** The tags of these indexes. */
export const tagsListing = (tx: Tx, indexIds: number[]) => rows(tx, ListingRow)`
  select t.name as tag, m.digest, m.media_type as "mediaType", ${listedSubjects} as "listedSubjects"
    from registry.manifest m join registry.tag t on t.manifest_id = m.id where m.id = any(${indexIds}::bigint[]) order by t.name`;

const ReferrerRow = Type.Object({
  id: Type.Integer(),
  digest: Type.String(),
  media_type: Type.String(),
  size: Type.Integer(),
  artifact_type: Type.Union([Type.String(), Type.Null()]),
  config_type: Type.Union([Type.String(), Type.Null()]),
  annotations: Type.Unsafe<Record<string, string> | null>({}),
  more: Type.Boolean(),
});

/** A page of at most `maxRows` referrers and `maxBytes` together, since annotations may be large. At least one. */
export const referrersOf = (
  tx: Tx,
  { repositoryId, subject, after }: { repositoryId: number; subject: string; after: number },
  { maxRows, maxBytes }: { maxRows: number; maxBytes: number },
) => rows(tx, ReferrerRow)`
  with listed as (
    select id, row_number() over (order by id) as place, sum(size) over (order by id) as bytes, lead(id) over (order by id) is not null as more
      from (select id, size from registry.manifest
             where repository_id = ${repositoryId} and subject = ${subject} and id > ${after} order by id limit ${maxRows + 1}) m
  )
  select m.id, m.digest, m.media_type, m.size, m.artifact_type, m.config_type, m.annotations, l.more
    from listed l join registry.manifest m on m.id = l.id
   where l.place <= ${maxRows} and (l.place = 1 or l.bytes <= ${maxBytes}) order by m.id`;

/** Records pulls, for retention and for lists. */
export const markPulled = (tx: Tx, ids: number[]) =>
  run(tx)`
    update registry.manifest set pulled_at = kernel.now()
     where id in (select id from registry.manifest where id = any(${ids}::bigint[]) order by id for no key update)`; // ordered by id, against deadlocks

const TagRow = Type.Object({ name: Type.String() });

export const tagNames = async (tx: Tx, repositoryId: number, after: string, limit: number) =>
  (
    await rows(tx, TagRow)`
    select name from registry.tag where repository_id = ${repositoryId} and name > ${after} order by name limit ${limit}`
  ).map((t) => t.name);

const MovedRow = Type.Object({
  manifest_id: Type.Integer(),
  digest: Type.String(),
  /** The cache set the tag, and no client has pushed it since. */
  fetched: Type.Boolean(),
});

/** The manifest of a tag, with the tag locked. Undefined also if the tag moved while the lock was awaited. */
export const lockTag = (tx: Tx, repositoryId: number, name: string) => row(tx, MovedRow)`
  select t.manifest_id, m.digest,
         m.cached or exists (select from registry.cache_entry e
                              where e.repository_id = t.repository_id and e.tag = t.name and e.digest = m.digest) as fetched
    from registry.tag t join registry.manifest m on m.id = t.manifest_id
   where t.repository_id = ${repositoryId} and t.name = ${name} for update of t`;

/** False: another transaction has inserted the tag. */
export const insertTag = async (tx: Tx, repositoryId: number, name: string, manifestId: number) =>
  (await run(tx)`
    with made as (
      insert into registry.tag (repository_id, name, manifest_id, updated_at) values (${repositoryId}, ${name}, ${manifestId}, kernel.now())
      on conflict (repository_id, name) do nothing returning repository_id
    ), ${notingChanges(sql`select repository_id, 0, 1 from made`)}
    select from made`) > 0;

export const moveTag = (tx: Tx, repositoryId: number, name: string, manifestId: number) => run(tx)`
  update registry.tag set manifest_id = ${manifestId}, updated_at = kernel.now() where repository_id = ${repositoryId} and name = ${name}`;

/** The tag's manifest was pushed again: the tag's age starts again. */
export const renewTag = (tx: Tx, repositoryId: number, name: string) => run(tx)`
  update registry.tag set updated_at = kernel.now() where repository_id = ${repositoryId} and name = ${name}`;

/** The tags of this manifest. */
export const tagsOf = async (tx: Tx, repositoryId: number, digest: string) =>
  (
    await rows(tx, TagRow)`
    select t.name from registry.tag t join registry.manifest m on m.id = t.manifest_id
     where m.repository_id = ${repositoryId} and m.digest = ${digest} order by t.name`
  ).map((t) => t.name);
