import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';

// Bytes and tags of a repository, for lists. Each change inserts a row, and a task adds the rows to the repository's figures. Updating the
// repository's row directly would lock it during every push, and out of lock order.

/** A CTE that records changes of repositories. `changes` selects repository_id, bytes, tags. */
export const notingChanges = (changes: Sql): Sql =>
  sql`noted as (insert into registry.repository_change (repository_id, bytes, tags) ${changes})`;

const manifestBytes = sql`(select coalesce(sum(m.size), 0) from registry.manifest m where m.repository_id = r.id)`;
const linkedBytes = sql`(select coalesce(sum(b.size), 0) from registry.repository_blob l join registry.blob b on b.id = l.blob_id where l.repository_id = r.id)`;
const countedTags = sql`(select count(*) from registry.tag t where t.repository_id = r.id)`;
const pending = (column: Sql) => sql`(select coalesce(sum(c.${column}), 0) from registry.repository_change c where c.repository_id = r.id)`;

/** Of a repository `r`. A repository without figures is counted by the query. */
export const sizeOfRepository = sql`(case when r.size_bytes is null then ${manifestBytes} + ${linkedBytes} else r.size_bytes + ${pending(sql`bytes`)} end)::bigint`;
export const tagsOfRepository = sql`(case when r.tag_count is null then ${countedTags} else r.tag_count + ${pending(sql`tags`)} end)::int`;

/** Serializes adding and counting: each must see the other's complete result. */
const lockFigures = (tx: Tx) => run(tx)`select pg_advisory_xact_lock(hashtextextended('registry figures', 0))`;

/** Adds some recorded changes to the figures of repositories. Returns how many. */
export async function addChanges(tx: Tx, limit: number): Promise<number> {
  await lockFigures(tx);
  return (await row(tx, Type.Object({ taken: Type.Integer() }))`
    with taken as (
      delete from registry.repository_change where id in (select id from registry.repository_change order by id limit ${limit})
      returning repository_id, bytes, tags
    ), summed as (
      select repository_id, sum(bytes) as bytes, sum(tags) as tags from taken group by repository_id
    ), added as (
      update registry.repository r set size_bytes = r.size_bytes + s.bytes, tag_count = r.tag_count + s.tags
        from summed s where r.id = s.repository_id
    )
    select count(*)::int as taken from taken`)!.taken;
}

const IdRow = Type.Object({ id: Type.Integer() });

/** Repositories after this id; `uncounted`: only those without figures. */
export const repositoriesAfter = async (tx: Tx, after: number, limit: number, uncounted: boolean): Promise<number[]> =>
  (
    await (uncounted
      ? rows(
          tx,
          IdRow,
        )`select id from registry.repository where size_bytes is null and removed_from is null and id > ${after} order by id limit ${limit}`
      : rows(tx, IdRow)`select id from registry.repository where removed_from is null and id > ${after} order by id limit ${limit}`)
  ).map((r) => r.id);

/** Counts a repository. Recorded changes that are not added yet are in the count, so they are subtracted. True when the figures changed. */
export async function countRepository(tx: Tx, id: number): Promise<boolean> {
  await lockFigures(tx);
  return (
    (await run(tx)`
      update registry.repository r set size_bytes = c.bytes, tag_count = c.tags
        from (select r.id, ${manifestBytes} + ${linkedBytes} - ${pending(sql`bytes`)} as bytes, ${countedTags} - ${pending(sql`tags`)} as tags
                from registry.repository r where r.id = ${id}) c
       where r.id = c.id and (r.size_bytes, r.tag_count) is distinct from (c.bytes, c.tags)`) > 0
  );
}
