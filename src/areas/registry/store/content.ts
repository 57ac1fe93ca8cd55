import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { channelNamed, wake } from '../../../kernel/jobs/index.ts';
import { sql } from '../../../kernel/sql.ts';
import { indexLimits, maxContentBytes } from '../rules/manifest.ts';

// The content size of an image with its layers, or of an index with everything below it. Each manifest and layer counts once. Old indexes
// that exceed the limits are counted as far as the limits reach.

/** The task that counts uncounted manifests. */
export const weighTask = channelNamed('registry.weigh');

/** Of a manifest `m`. Rows are limited as they are found, so indexes that list each other's children cost no more than others. */
const contentBytes = sql`(
  with recursive listed (id, depth) as (
    select m.id, 0
    union all
    select o.id, l.depth + 1 from listed l
      join registry.manifest_child c on c.parent_id = l.id
      join registry.manifest o on o.repository_id = c.repository_id and o.digest = c.digest where l.depth < ${indexLimits.depth}
  ), part as (
    select distinct id from (select id from listed limit ${indexLimits.manifests + 1}) nearest
  )
  select least((select sum(o.size) from part p join registry.manifest o on o.id = p.id)
             + (select coalesce(sum(d.size), 0)::numeric
                  from (select distinct b.digest, b.size from part p join registry.manifest_blob b on b.manifest_id = p.id) d),
               ${maxContentBytes}::numeric))::bigint`;

/** Counts these manifests. */
export const countContent = (tx: Tx, ids: number[]) => run(tx)`
  update registry.manifest m set content_bytes = ${contentBytes} where m.id = any(${ids}::bigint[])`;

/** Indexes that one transaction marks for recounting. */
export const indexesPerBatch = 100;

/**
 * Uncounts the indexes of `slice`. Locked rows are skipped: who holds one may be counting it on a snapshot without the change, so the caller
 * comes back to it. A row that is uncounted already is locked all the same, for the same reason.
 */
const uncountSlice = sql`
  held as materialized (
    select id from registry.manifest where id in (select id from slice) order by id for no key update skip locked
  ), uncounted as (
    update registry.manifest set content_bytes = null where id in (select id from held) and content_bytes is not null
  )`;

const ListedRow = Type.Object({ listed: Type.Integer(), skipped: Type.Integer() });

/** After a child was added or deleted: marks its indexes, and those above, for recounting. False: there may be more of them. */
export async function uncountIndexes(tx: Tx, repositoryId: number, digest: string): Promise<boolean> {
  const { listed, skipped } = (await row(tx, ListedRow)`
  with recursive listing (id, depth) as (
    select parent_id, 1 from registry.manifest_child where repository_id = ${repositoryId} and digest = ${digest}
    union all
    select c.parent_id, l.depth + 1 from listing l join registry.manifest o on o.id = l.id
      join registry.manifest_child c on c.repository_id = o.repository_id and c.digest = o.digest where l.depth < ${indexLimits.depth}
  ), slice as materialized (
    select id from listing limit ${indexesPerBatch}
  ), ${uncountSlice}
  select count(*)::int as listed, count(distinct id)::int - (select count(*) from held)::int as skipped from slice`)!;
  if (listed > 0) wake(tx, weighTask);
  return listed < indexesPerBatch && skipped === 0;
}

const ListerRow = Type.Object({ id: Type.Integer(), digest: Type.String(), is_listed: Type.Boolean() });

/** Indexes that list a manifest, a batch after this id, and whether other indexes list them. */
export const listersAfter = (tx: Tx, repositoryId: number, digest: string, after: number) => rows(tx, ListerRow)`
  select p.id, p.digest, exists (select from registry.manifest_child o where o.repository_id = c.repository_id and o.digest = p.digest) as is_listed
    from registry.manifest_child c join registry.manifest p on p.id = c.parent_id
   where c.repository_id = ${repositoryId} and c.digest = ${digest} and c.parent_id > ${after} order by c.parent_id limit ${indexesPerBatch}`;

/** Marks indexes for recounting. False: others hold some of them. */
export async function uncount(tx: Tx, ids: number[]): Promise<boolean> {
  if (ids.length === 0) return true;
  const { listed, skipped } = (await row(tx, ListedRow)`
  with slice as materialized (select id from registry.manifest where id = any(${ids}::bigint[])), ${uncountSlice}
  select count(*)::int as listed, count(*)::int - (select count(*) from held)::int as skipped from slice`)!;
  if (listed > 0) wake(tx, weighTask);
  return skipped === 0;
}

const IdRow = Type.Object({ id: Type.Integer() });

/** A batch of uncounted manifests after this id. */
export const uncountedAfter = async (tx: Tx, after: number, limit: number) =>
  (await rows(tx, IdRow)`select id from registry.manifest where content_bytes is null and id > ${after} order by id limit ${limit}`).map(
    (m) => m.id,
  );

/** Those that are still uncounted and not locked by another transaction. */
export const lockUncounted = async (tx: Tx, ids: number[]) =>
  (
    await rows(tx, IdRow)`
    select id from registry.manifest where id = any(${ids}::bigint[]) and content_bytes is null order by id for no key update skip locked`
  ).map((m) => m.id);
