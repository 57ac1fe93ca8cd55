import { GuardRefusal } from './errors.ts';
import { parseTarget, type Target } from './host.ts';

/** A request without its connection; a redirect turns it into another. */
export interface Message {
  readonly target: Target;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The headers that another origin gets instead. */
  readonly crossOriginHeaders: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

/** Headers that another origin may see. An allow list, since API keys travel in headers of any name. */
const crossOriginNames = new Set([
  ...['accept', 'accept-encoding', 'accept-language', 'cache-control', 'user-agent'],
  ...['range', 'if-range', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'],
]);
/** Headers that belong to a body, and go where it goes. */
const bodyHeaderNames = new Set(['content-type', 'content-language', 'content-encoding']);

type Headers = Readonly<Record<string, string>>;
const pickHeaders = (headers: Headers, isKept: (name: string) => boolean): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => isKept(name)));

export const crossOriginOnly = (headers: Headers): Headers => pickHeaders(headers, (name) => crossOriginNames.has(name));

export const isRedirect = (status: number) => status === 301 || status === 302 || status === 303 || status === 307 || status === 308;

/**
 * The next request, as in the Fetch standard (4.4, HTTP-redirect fetch), except for a body: it may hold credentials as a header may, so it
 * never goes to another server. The target is parsed anew and not resolved yet.
 */
export function redirected(from: Message, status: number, location: string, allowDowngrade: boolean): Message {
  const target = parseTarget(location, from.target.url);
  if (from.target.secure && !target.secure && !allowDowngrade) {
    throw new GuardRefusal('redirect', `${from.target.host.name} redirects from https to http; name the final https URL instead`);
  }
  const becomesGet = status === 303 ? from.method !== 'GET' && from.method !== 'HEAD' : status <= 302 && from.method === 'POST';
  const isSameOrigin = target.url.origin === from.target.url.origin;
  const isUpgrade = target.host.name === from.target.host.name && isPlainWeb(from.target) && isSecureWeb(target);
  if (from.body !== null && !becomesGet && !isSameOrigin && !isUpgrade) {
    throw new GuardRefusal(
      'redirect',
      `${from.target.host.name} redirects a request that has a body to another server; name the final URL instead`,
    );
  }
  const body = becomesGet ? null : from.body;
  const kept = isSameOrigin
    ? pickHeaders(from.headers, (name) => !(becomesGet && name.startsWith('content-')))
    : { ...from.crossOriginHeaders, ...(body === null ? {} : pickHeaders(from.headers, (name) => bodyHeaderNames.has(name))) };
  return { target, method: becomesGet ? 'GET' : from.method, headers: kept, crossOriginHeaders: from.crossOriginHeaders, body };
}

/** The two ports of one server. Any other port may belong to another server. */
const isPlainWeb = ({ secure, port }: Target) => !secure && port === 80;
const isSecureWeb = ({ secure, port }: Target) => secure && port === 443;
