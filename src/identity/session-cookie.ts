import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { App } from '../kernel/app.ts';

// The cookie of a session. Where the public URL is https, it is bound to this host by its prefix and is sent over TLS only. Over plain HTTP,
// which is loopback, browsers differ about the prefix, so it has another name.

const secureName = '__Host-qd';
const plainName = 'qd';

/** A header of many cookies is not ours to read. */
const maxHeaderLength = 16_384;

type Server = Pick<App, 'peers' | 'publicUrl'>;

export const usesSecureCookies = ({ publicUrl }: Pick<App, 'publicUrl'>): boolean => publicUrl().startsWith('https:');

/** Whether a secret may travel as this request did. Without TLS only from this machine: in between, others could read it. */
export const isPrivate = (request: IncomingMessage, { peers }: Pick<App, 'peers'>): boolean =>
  peers.isSecure(request) || peers.isHere(request);

/** The value of a cookie, where cookies count. */
export function cookieIn(request: IncomingMessage, app: Pick<App, 'peers'>, name: string): string | undefined {
  const { cookie } = request.headers;
  if (cookie === undefined || cookie.length > maxHeaderLength || !isPrivate(request, app)) return undefined;
  const start = `${name}=`;
  for (const part of cookie.split(';')) {
    const text = part.trim();
    if (text.startsWith(start)) return text.slice(start.length);
  }
  return undefined;
}

/** The key of a session, if the request carries one. */
export const sessionKeyIn = (request: IncomingMessage, server: Server): string | undefined =>
  cookieIn(request, server, usesSecureCookies(server) ? secureName : plainName);

/** A cookie that pages and scripts of other sites neither read nor send. */
export const ownCookie = (name: string, value: string, isSecure: boolean, maxAgeSeconds: number): string =>
  `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${isSecure ? '; Secure' : ''}`;

export const sessionCookie = (key: string, isSecure: boolean, maxAgeSeconds: number): string =>
  ownCookie(isSecure ? secureName : plainName, key, isSecure, maxAgeSeconds);

export const endedCookie = (isSecure: boolean): string => sessionCookie('', isSecure, 0);

/**
 * Whether a page of this server sent the request. Browsers say so in `Sec-Fetch-Site`, which no page can forge; older ones name their origin
 * with everything but a plain GET. `same-site` is not enough: a status page may be on a sibling host.
 */
export function isOwnPage(headers: IncomingHttpHeaders, ownOrigin: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return headers.origin !== undefined && headers.origin === ownOrigin;
}
