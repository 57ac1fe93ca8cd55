import { type HttpTarget, shownUrl, type TcpTarget } from '../../../protocols/agent.ts';
import type { HttpInput, Targets, TcpInput } from './target.ts';

// Which parts of a target may be secrets, and who sees them. Probers need the whole target. A caller with read access sees where the
// monitor looks. A caller with write access also sees which headers and query values there are, but not the values.

export type Target = HttpTarget | TcpTarget;

export type PublicTarget =
  | Pick<HttpTarget, 'url' | 'method' | 'followRedirects' | 'expectStatus'>
  | Pick<TcpTarget, 'host' | 'port' | 'tls'>;

/** Stands for a value that is stored and not shown. */
export const mask = '***';
/** The same where only base64 fits. */
export const mask64 = Buffer.from(mask).toString('base64');

/** The part of a target that readers may see, and that is stored unsealed. */
export const publicTarget = (target: PublicTarget): PublicTarget =>
  'url' in target
    ? {
        url: shownUrl(target.url),
        method: target.method,
        followRedirects: target.followRedirects,
        expectStatus: target.expectStatus,
      }
    : { host: target.host, port: target.port, tls: target.tls };

/** What a person calls the target: the URL, or host and port. */
export const addressOf = (target: PublicTarget): string =>
  'url' in target ? shownUrl(target.url) : `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`;

/** What a caller with write access sees: a mask for each value that is sent with a check. Expectations are never sent, and are shown. */
export const maskedTarget = (target: Target): HttpInput | TcpInput => ('url' in target ? maskedHttp(target) : maskedTcp(target));

const maskedHttp = ({ url, headers, bodyBase64, ...rest }: HttpTarget): HttpInput => {
  const names = Object.keys(headers);
  return {
    ...rest,
    url: maskedUrl(url),
    ...(names.length ? { headers: Object.fromEntries(names.map((name) => [name, mask])) } : {}),
    ...(bodyBase64 === undefined ? {} : { bodyBase64: mask64 }),
  };
};

const maskedTcp = ({ sendBase64, ...rest }: TcpTarget): TcpInput => ({
  ...rest,
  ...(sendBase64 === undefined ? {} : { sendBase64: mask64 }),
});

const maskedUrl = (url: string): string => {
  const { query } = split(url);
  return query === undefined ? shownUrl(url) : `${shownUrl(url)}?${query.split('&').map(maskedPart).join('&')}`;
};

/** As written: the request must be sent exactly as given, and `URL` would normalize it. */
const split = (url: string): { path: string; query: string | undefined } => {
  const sent = url.split('#', 1)[0]!;
  const at = sent.indexOf('?');
  return at < 0 ? { path: sent, query: undefined } : { path: sent.slice(0, at), query: sent.slice(at + 1) };
};

/** `token=` of `token=abc`; nothing of a part without a value, which may be the secret itself: base64 ends in `=` and in `==`. */
const nameOf = (part: string): string => /^([^=]*=)(?!(?:=|%3d)*$)/i.exec(part)?.[1] ?? '';
const maskedPart = (part: string): string => (part === '' ? '' : nameOf(part) + mask);
const isMasked = (part: string): boolean => part !== '' && part === maskedPart(part);

export type ResolvedMasks = { targets: Targets } | { complaint: string };

/**
 * Replaces every mask in the given target by the stored value. A caller with write access need not know the secrets. So a stored value is
 * never sent to another server, which could be the caller's own. Nor is it combined with a new expectation: where an answer repeats a
 * value, each check would confirm or refute a guess of it.
 */
export function resolveMasks({ http, tcp }: Targets, stored?: Target): ResolvedMasks {
  const kept = makeMaskResolver();
  const targets: Targets = {
    ...(http ? { http: resolveHttp(http, stored && 'url' in stored ? stored : undefined, kept) } : {}),
    ...(tcp ? { tcp: resolveTcp(tcp, stored && 'host' in stored ? stored : undefined, kept) } : {}),
  };
  const [unknown] = kept.unknown;
  if (unknown) return { complaint: `${unknown} is ${mask}, which stands for a value that is stored, and none is; send the value` };
  if (kept.any && stored && !isSameServer(targets, stored))
    return {
      complaint: `${http ? 'http.url' : 'tcp'} names another server, to which the values behind ${mask} were not meant to go; send the values again`,
    };
  const asked = kept.any && stored && newExpectation(targets, stored);
  if (asked)
    return {
      complaint: `${asked} is not the one that is stored, and a check would tell whether it is in the values behind ${mask}; send the values again, or leave it as it is`,
    };
  return { targets };
}

/** Whether any value in it is a mask. */
export function hasMask({ http, tcp }: Targets): boolean {
  const kept = makeMaskResolver();
  if (http) resolveHttp(http, undefined, kept);
  if (tcp) resolveTcp(tcp, undefined, kept);
  return kept.any;
}

interface MaskResolver {
  any: boolean;
  unknown: string[];
  take(field: string, value: string | undefined): string;
}

const makeMaskResolver = (): MaskResolver => {
  const self: MaskResolver = {
    any: false,
    unknown: [],
    take: (field, value) => {
      if (value === undefined) self.unknown.push(field);
      self.any = true;
      return value ?? '';
    },
  };
  return self;
};

function resolveHttp(given: HttpInput, stored: HttpTarget | undefined, kept: MaskResolver): HttpInput {
  const known = new Map(Object.entries(stored?.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  const header = ([name, value]: [string, string]) => [
    name,
    value === mask ? kept.take(`http.headers.${name}`, known.get(name.toLowerCase())) : value,
  ];
  return {
    ...given,
    url: resolveUrl(given.url, stored?.url ?? '', kept),
    ...(given.headers ? { headers: Object.fromEntries(Object.entries(given.headers).map(header)) } : {}),
    ...(given.bodyBase64 === mask64 ? { bodyBase64: kept.take('http.bodyBase64', stored?.bodyBase64) } : {}),
  };
}

const resolveTcp = (given: TcpInput, stored: TcpTarget | undefined, kept: MaskResolver): TcpInput =>
  given.sendBase64 === mask64 ? { ...given, sendBase64: kept.take('tcp.sendBase64', stored?.sendBase64) } : given;

/** The field with a new expectation of the answer's content. An expectation that is left out asks nothing. */
function newExpectation({ http, tcp }: Targets, stored: Target): string | undefined {
  const { expectBodyContains, expectPrefixBase64 } = { ...http, ...tcp };
  const before = stored as Partial<HttpTarget & TcpTarget>;
  if (expectBodyContains !== undefined && expectBodyContains !== before.expectBodyContains) return 'http.expectBodyContains';
  if (expectPrefixBase64 !== undefined && expectPrefixBase64 !== before.expectPrefixBase64) return 'tcp.expectPrefixBase64';
  return undefined;
}

/** A query name that occurs several times gets its stored values in order. */
function resolveUrl(given: string, stored: string, kept: MaskResolver): string {
  const { path, query } = split(given);
  if (!query?.split('&').some(isMasked)) return given;
  const known = Map.groupBy((split(stored).query ?? '').split('&').filter(Boolean), nameOf);
  const part = (text: string) =>
    isMasked(text) ? kept.take(`http.url’s ${nameOf(text).slice(0, -1) || 'query'}`, known.get(nameOf(text))?.shift()) : text;
  return `${path}?${query.split('&').map(part).join('&')}`;
}

function isSameServer({ http, tcp }: Targets, stored: Target): boolean {
  if (http) return 'url' in stored && URL.canParse(http.url) && new URL(http.url).origin === new URL(stored.url).origin;
  return 'host' in stored && tcp?.host === stored.host && tcp.port === stored.port && (tcp.tls ?? false) === stored.tls;
}
