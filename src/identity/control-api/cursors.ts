import { createHash } from 'node:crypto';
import type { Op } from '../../../contract/common.ts';
import { invalid } from '../../kernel/errors.ts';
import type { AnyAnswer } from '../operation.ts';

// A cursor starts with a tag of its organization: a cursor of another organization is refused whatever the list itself accepts. The rest of
// it belongs to the operation.

const tagLength = 8;
const tagOf = (org: string): string => createHash('sha256').update(`cursor of ${org}`).digest('base64url').slice(0, tagLength);

export const hasCursor = ({ query }: Op): boolean => query !== undefined && 'cursor' in (query as { properties: object }).properties;

/** A query as its operation sees it. */
export function openCursor<Query>(query: Query, org: string): Query {
  const { cursor } = query as { cursor?: string };
  if (cursor === undefined) return query;
  if (!cursor.startsWith(tagOf(org))) invalid('the cursor is not one of ours; start again without it');
  return { ...query, cursor: cursor.slice(tagLength) };
}

export function sealCursor(given: AnyAnswer, org: string): AnyAnswer {
  const { cursor } = (given.body ?? {}) as { cursor?: unknown };
  return typeof cursor === 'string' ? { ...given, body: { ...(given.body as object), cursor: `${tagOf(org)}${cursor}` } } : given;
}
