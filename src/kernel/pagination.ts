import { invalid } from './errors.ts';
import { type Sql, sql } from './sql.ts';

/** Lists go on from an id: ids sort by time, and a slice stays right while rows come and go. */
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

/** Rows that can be large: a slice ends early once the ones before have so many bytes. Stores leave the large part of the others out. */
export const maxListBytes = 262_144;

/** In a list by descending id: whether the rows before this one have filled the slice, by the bytes of each. */
export const isBeyond = (bytes: Sql): Sql =>
  sql`coalesce(sum(${bytes}) over (order by id desc rows between unbounded preceding and 1 preceding), 0) >= ${maxListBytes}`;

/** Ask the store for one row more than the limit; this cuts it off and says where to go on. `isBeyond`: the ones before it fill the slice. */
export function paginate<T>(
  found: T[],
  { limit }: Pagination,
  idOf: (row: T) => string,
  isOverListBytes?: (row: T) => boolean,
): { items: T[]; cursor?: string } {
  const end = isOverListBytes ? found.findIndex(isOverListBytes) : -1;
  const most = end > 0 ? Math.min(limit, end) : limit;
  if (found.length <= most) return { items: found };
  const items = found.slice(0, most);
  return { items, cursor: Buffer.from(idOf(items.at(-1)!)).toString('base64url') };
}
