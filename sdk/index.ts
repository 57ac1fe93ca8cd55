import { bind } from './call.ts';
import type { Api } from './generated/api.ts';
import { operations } from './generated/operations.ts';
import type { ClientOptions } from './types.ts';

export { ApiError, UnreachableError } from './errors.ts';
export { type LiveEvent, readEvents } from './events.ts';
export type * from './generated/api.ts';
export type { CallOptions, ClientOptions, Paged } from './types.ts';

/**
 * A client of one server, with one token: a function for every operation, by area.
 *
 *   const api = quarterdeck({ url: 'https://quarterdeck.example', token: process.env.QUARTERDECK_TOKEN });
 *   const { id, key } = await api.tokens.createToken({ name: 'ci', scope: [{ role: 'uptime.viewer' }] });
 *   for await (const { tokens } of api.tokens.listTokens.pages()) …
 *   await api.tokens.deleteToken(id);
 */
export function quarterdeck(options: ClientOptions): Api {
  const areas = Object.entries(operations).map(([area, table]) => [
    area,
    Object.fromEntries(Object.entries(table).map(([id, operation]) => [id, bind(options, operation)])),
  ]);
  return Object.fromEntries(areas) as Api;
}
