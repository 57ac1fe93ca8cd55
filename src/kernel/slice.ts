import { invalid } from './errors.ts';

/** Lists go on from an id: ids sort by time, and a slice stays right while rows come and go. */
export interface Slice {
  limit: number;
  /** Rows after this id, in the list's own order. */
  after: string | null;
}

export const sliceOf = (query: { limit?: number; cursor?: string }): Slice => ({
  limit: query.limit ?? 1000,
  after: query.cursor === undefined ? null : decode(query.cursor),
});

function decode(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString();
  if (!/^[\w.:/@-]{1,300}$/.test(id) || Buffer.from(id).toString('base64url') !== cursor)
    invalid('the cursor is not one of ours; start again without it');
  return id;
}

/** Ask the store for one row more than the limit; this cuts it off and says where to go on. */
export function cutSlice<T>(found: T[], { limit }: Slice, idOf: (row: T) => string): { items: T[]; cursor?: string } {
  if (found.length <= limit) return { items: found };
  const items = found.slice(0, limit);
  return { items, cursor: Buffer.from(idOf(items.at(-1)!)).toString('base64url') };
}
