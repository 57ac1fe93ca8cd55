import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';

// What a repository holds: bytes and tags, for lists. Every change is a row of its own (a row of the repository would be locked by whoever
// pushes, and before others that they need), and a task adds the rows to the repository's figures.

/** Part of a statement: notes what it changes about repositories. `changes` selects repository_id, bytes, tags. */
export const notingChanges = (changes: Sql): Sql =>
  sql`noted as (insert into registry.repository_change (repository_id, bytes, tags) ${changes})`;

const manifestBytes = sql`(select coalesce(sum(m.size), 0) from registry.manifest m where m.repository_id = r.id)`;
const linkedBytes = sql`(select coalesce(sum(b.size), 0) from registry.repository_blob l join registry.blob b on b.id = l.blob_id where l.repository_id = r.id)`;
const countedTags = sql`(select count(*) from registry.tag t where t.repository_id = r.id)`;
const pending = (column: Sql) => sql`(select coalesce(sum(c.${column}), 0) from registry.repository_change c where c.repository_id = r.id)`;

/** Of a repository `r`, as a list shows it. One that is not counted yet is counted by whoever asks. */
export const sizeOfRepository = sql`(case when r.size_bytes is null then ${manifestBytes} + ${linkedBytes} else r.size_bytes + ${pending(sql`bytes`)} end)::bigint`;
export const tagsOfRepository = sql`(case when r.tag_count is null then ${countedTags} else r.tag_count + ${pending(sql`tags`)} end)::int`;

/** Whoever adds up and whoever counts come one after the other: each must see all that the other has done. */
const lockFigures = (tx: Tx) => run(tx)`select pg_advisory_xact_lock(hashtextextended('registry figures', 0))`;

/** Adds some of what was noted to the figures of its repositories. Returns how many notes those were. */
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

/** Repositories after this one; `uncounted`: only those that nobody has counted yet. */
export const repositoriesAfter = async (tx: Tx, after: number, limit: number, uncounted: boolean): Promise<number[]> =>
  (
    await (uncounted
      ? rows(
          tx,
          IdRow,
        )`select id from registry.repository where size_bytes is null and removed_from is null and id > ${after} order by id limit ${limit}`
      : rows(tx, IdRow)`select id from registry.repository where removed_from is null and id > ${after} order by id limit ${limit}`)
  ).map((r) => r.id);

/** Counts one anew. What is noted and not added yet is in the count, so it is taken off. True when the figures were others. */
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
