import { createHash } from 'node:crypto';

/** A position in a filtered list. The cursor includes its filters, because with other filters it would silently skip rows. */
export const writeCursor = (id: string, filters: object): string => Buffer.from(`${id} ${bindingOf(filters)}`).toString('base64url');

/** Undefined: malformed, or made for other filters. */
export function readCursor(cursor: string, filters: object): string | undefined {
  const [id = '', binding = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  return /^\w{1,40}$/.test(id) && binding === bindingOf(filters) ? id : undefined;
}

const bindingOf = (filters: object): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(filters).sort()))
    .digest('base64url')
    .slice(0, 12);
