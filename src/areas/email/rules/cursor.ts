import { createHash } from 'node:crypto';

/** A place in a list of one filter: with others it would leave things out without anybody noticing, so it says which it is for. */
export const writeCursor = (id: string, filters: object): string => Buffer.from(`${id} ${bindingOf(filters)}`).toString('base64url');

/** Undefined: not one of ours, or of other filters. */
export function readCursor(cursor: string, filters: object): string | undefined {
  const [id = '', binding = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  return /^\w{1,40}$/.test(id) && binding === bindingOf(filters) ? id : undefined;
}

const bindingOf = (filters: object): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(filters).sort()))
    .digest('base64url')
    .slice(0, 12);
