import { GuardRefusal } from './errors.ts';
import { parseTarget, type Target } from './host.ts';

/** A request without its connection: what a redirect turns into another one. */
export interface Message {
  readonly target: Target;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

/** What another origin may see. A list of what may pass, not of what may not: API keys travel in headers nobody has heard of. */
const forAnyOrigin = new Set([
  ...['accept', 'accept-encoding', 'accept-language', 'cache-control', 'user-agent'],
  ...['range', 'if-range', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'],
  ...['content-type', 'content-language', 'content-encoding'],
]);

export const isRedirect = (status: number) => status === 301 || status === 302 || status === 303 || status === 307 || status === 308;

/**
 * The next request, as the Fetch standard has it (4.4, HTTP-redirect fetch), but for a body: it may hold credentials as a header may, so
 * that it goes to no other server. Its target is parsed anew, and is yet to be pinned.
 */
export function redirected(from: Message, status: number, location: string, allowDowngrade: boolean): Message {
  const target = parseTarget(location, from.target.url);
  if (from.target.secure && !target.secure && !allowDowngrade) {
    throw new GuardRefusal('redirect', `${from.target.host.name} redirects from https to http; name the final https URL instead`);
  }
  const becomesGet = status === 303 ? from.method !== 'GET' && from.method !== 'HEAD' : status <= 302 && from.method === 'POST';
  const isSameOrigin = target.url.origin === from.target.url.origin;
  const isUpgrade = target.secure && !from.target.secure && target.host.name === from.target.host.name;
  if (from.body !== null && !becomesGet && !isSameOrigin && !isUpgrade) {
    throw new GuardRefusal(
      'redirect',
      `${from.target.host.name} redirects a request that has a body to another server; name the final URL instead`,
    );
  }
  const kept = Object.entries(from.headers).filter(
    ([name]) => (isSameOrigin || forAnyOrigin.has(name)) && !(becomesGet && name.startsWith('content-')),
  );
  return {
    target,
    method: becomesGet ? 'GET' : from.method,
    headers: Object.fromEntries(kept),
    body: becomesGet ? null : from.body,
  };
}
