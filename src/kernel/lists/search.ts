import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../db/index.ts';
import { type Sql, sql } from '../sql.ts';

// Things by what people remember of them: a part of the name, or the beginning of the id. The text is compared, never read as a pattern.

export interface SearchFor {
  text: string;
  /** Of each kind. */
  limit: number;
}

const orNull = <S extends Type.TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

export interface FoundRow {
  /** What the API takes to address it. */
  address: string;
  name: string;
  detail: string | null;
  parents: string[];
  /** 0: the name or id itself; 1: the beginning of a name; 2: the beginning of the id; 3: inside a name. */
  rank: number;
}

/** One row without a match when there is none. */
const AnsweredRow = Type.Object({
  address: orNull(Type.String()),
  name: orNull(Type.String()),
  detail: orNull(Type.String()),
  parents: orNull(Type.Array(Type.String())),
  rank: orNull(Type.Integer()),
  is_partial: Type.Boolean(),
});

export interface Looked {
  found: FoundRow[];
  /** There are more candidates than were looked at. */
  isPartial: boolean;
}

/** Candidates of one kind that are looked at, the newest first: some 10 ms. */
const maxLooked = 10_000;

export interface Candidates {
  /** In descending order of time. */
  newest: Sql;
  /** Further ones, found by an index, in any order. A candidate may be in both. */
  prefixed?: Sql;
  /** How many of the newest are looked at. */
  most?: number;
  /** Whether there are more than that; by default the newest are counted. */
  hasMore?: Sql;
}

/** Candidates have the columns id, address, name, alias (or null), detail (or null) and parents. */
export async function searchAmong(
  tx: Tx,
  { text, limit }: SearchFor,
  { newest, prefixed, most = maxLooked, hasMore = sql`exists (select from (${newest}) more offset ${most})` }: Candidates,
): Promise<Looked> {
  const columns = sql`id, address, name, alias, detail, parents`;
  // Letters are folded once for each candidate, and compared as bytes: that is most of the work.
  const all = await rows(tx, AnsweredRow)`
    with wanted as materialized (select lower(${text}::text) collate "C" as text, strpos(${text}::text, '_') > 0 as may_be_id),
    found as (
      select c.address, c.name, c.detail, c.parents, c.id, case
             when c.n = w.text or c.a = w.text or (w.may_be_id and lower(c.id) collate "C" = w.text) then 0
             when starts_with(c.n, w.text) or starts_with(c.a, w.text) then 1
             when w.may_be_id and starts_with(lower(c.id) collate "C", w.text) then 2 else 3 end as rank
        from wanted w, (
             select ${columns}, lower(name) collate "C" as n, lower(alias) collate "C" as a
               from ((select ${columns} from (${newest}) l limit ${most})
                     ${prefixed ? sql`union all (select ${columns} from (${prefixed}) p limit ${limit})` : sql``}) b offset 0) c
       where strpos(c.n, w.text) > 0 or strpos(c.a, w.text) > 0 or (w.may_be_id and starts_with(lower(c.id) collate "C", w.text))
       order by rank, length(c.name), c.id desc limit ${prefixed ? 2 * limit : limit})
    select f.address, f.name, f.detail, f.parents, f.rank, s.is_partial
      from (select ${hasMore} as is_partial) s left join found f on true
     order by f.rank, length(f.name), f.id desc`;
  const found = new Map(all.filter(isFound).map((row) => [`${row.parents.join('/')}/${row.address}`, row]));
  return { found: [...found.values()].slice(0, limit), isPartial: all[0]!.is_partial };
}

const isFound = (row: Static<typeof AnsweredRow>): row is Static<typeof AnsweredRow> & FoundRow => row.rank !== null;
