import { invalid } from './errors.ts';
import { type Sql, sql } from './sql.ts';

/** Lists continue from an id: ids sort by time, so a page stays right while rows come and go. */
export interface Pagination {
  limit: number;
  /** Rows after this id, in the list's own order. */
  after: string | null;
}

export const paginationOf = (query: { limit?: number; cursor?: string }): Pagination => ({
  limit: query.limit ?? 1000,
  after: query.cursor === undefined ? null : decode(query.cursor),
});

function decode(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString();
  if (!/^[\w.:/@-]{1,300}$/.test(id) || Buffer.from(id).toString('base64url') !== cursor)
    invalid('the cursor is not one of ours; start again without it');
  return id;
}

/** For rows that can be large: a page ends early once its rows have this many bytes. Stores omit the large column of further rows. */
export const maxListBytes = 262_144;

/**
 * A list by descending id whose rows can be large, with two more columns. `is_beyond`: the rows before this one have filled the page.
 * `is_far`: so have the rows before the one above it. PostgreSQL decompresses the large column only as far as the page goes: past a
 * compressed size of the whole page the rows are beyond anyway.
 */
export const withinListBytes = (column: Sql, list: Sql): Sql => sql`(
  select *, coalesce(sum(bytes) over (order by id desc rows between unbounded preceding and 1 preceding), 0) >= ${maxListBytes} as is_beyond,
            coalesce(sum(bytes) over (order by id desc rows between unbounded preceding and 2 preceding), 0) >= ${maxListBytes} as is_far
    from (select *, case when packed < ${maxListBytes} then octet_length(${column}::text) else ${maxListBytes} end as bytes
            from (select *, sum(pg_column_size(${column})) over (order by id desc) as packed from (${list}) l) p offset 0) b)`;

/**
 * The store returns one row more than the limit; this removes it and returns the cursor of the next page. `isBeyond`: the rows before it
 * fill the page.
 */
export function paginate<T>(
  found: T[],
  { limit }: Pagination,
  idOf: (row: T) => string,
  isBeyond?: (row: T) => boolean,
): { items: T[]; cursor?: string } {
  const end = isBeyond ? found.findIndex(isBeyond) : -1;
  const count = end > 0 ? Math.min(limit, end) : limit;
  if (found.length <= count) return { items: found };
  const items = found.slice(0, count);
  return { items, cursor: Buffer.from(idOf(items.at(-1)!)).toString('base64url') };
}
