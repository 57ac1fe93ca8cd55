import type { HttpTarget, TcpTarget } from '../protocol.ts';
import type { HttpInput, Targets, TcpInput } from './target.ts';

// What of a target may be a secret, and who sees how much of it. Probers need all of it. Whoever may see the monitor sees where it
// looks; whoever may change it also sees which headers and query values there are, but not the values.

export type Target = HttpTarget | TcpTarget;

export type Shown = Pick<HttpTarget, 'url' | 'method' | 'followRedirects' | 'expectStatus'> | Pick<TcpTarget, 'host' | 'port' | 'tls'>;

/** Stands for a value that is stored and not shown. */
export const mask = '***';
/** The same where only base64 fits. */
export const mask64 = Buffer.from(mask).toString('base64');

/** Of any URL, wherever it is told: neither user and password, nor query, nor fragment. */
export const shownUrl = (url: string): string => url.split(/[?#]/, 1)[0]!.replace(/^([a-z][a-z0-9+.-]*:[/\\]*)[^/\\]*@/i, '$1');

/** For whoever may see the monitor, and for the table. */
export const shownTarget = (target: Shown): Shown =>
  'url' in target
    ? {
        url: shownUrl(target.url),
        method: target.method,
        followRedirects: target.followRedirects,
        expectStatus: target.expectStatus,
      }
    : { host: target.host, port: target.port, tls: target.tls };

/** What a person calls the target: the URL, or host and port. */
export const addressOf = (target: Shown): string =>
  'url' in target ? shownUrl(target.url) : `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`;

/** For whoever may change the monitor: a mask for each value that is sent with a check. What is expected is never sent. */
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

/** As it is written, since what is sent must be what was given: `URL` would spell some of it otherwise. */
const split = (url: string): { path: string; query: string | undefined } => {
  const sent = url.split('#', 1)[0]!;
  const at = sent.indexOf('?');
  return at < 0 ? { path: sent, query: undefined } : { path: sent.slice(0, at), query: sent.slice(at + 1) };
};

/** `token=` of `token=abc`; nothing of a part without a name, which may be the secret itself. */
const nameOf = (part: string): string => part.slice(0, part.indexOf('=') + 1);
const maskedPart = (part: string): string => (part === '' ? '' : nameOf(part) + mask);
const isMasked = (part: string): boolean => part !== '' && part === maskedPart(part);

export type FilledIn = { targets: Targets } | { complaint: string };

/**
 * A target as it was sent, with the stored value for every mask. Values never follow to another server: whoever may change a monitor need
 * not know its secrets, and could have them sent to a server of their own.
 */
export function filledIn({ http, tcp }: Targets, stored?: Target): FilledIn {
  const kept = keeper();
  const targets: Targets = {
    ...(http ? { http: filledHttp(http, stored && 'url' in stored ? stored : undefined, kept) } : {}),
    ...(tcp ? { tcp: filledTcp(tcp, stored && 'host' in stored ? stored : undefined, kept) } : {}),
  };
  const [unknown] = kept.unknown;
  if (unknown) return { complaint: `${unknown} is ${mask}, which stands for a value that is stored, and none is; send the value` };
  if (kept.any && stored && !isSameServer(targets, stored))
    return {
      complaint: `${http ? 'http.url' : 'tcp'} names another server, to which the values behind ${mask} were not meant to go; send the values again`,
    };
  return { targets };
}

interface Keeper {
  any: boolean;
  unknown: string[];
  take(field: string, value: string | undefined): string;
}

const keeper = (): Keeper => {
  const self: Keeper = {
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

function filledHttp(given: HttpInput, stored: HttpTarget | undefined, kept: Keeper): HttpInput {
  const known = new Map(Object.entries(stored?.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  const header = ([name, value]: [string, string]) => [
    name,
    value === mask ? kept.take(`http.headers.${name}`, known.get(name.toLowerCase())) : value,
  ];
  return {
    ...given,
    url: filledUrl(given.url, stored?.url ?? '', kept),
    ...(given.headers ? { headers: Object.fromEntries(Object.entries(given.headers).map(header)) } : {}),
    ...(given.bodyBase64 === mask64 ? { bodyBase64: kept.take('http.bodyBase64', stored?.bodyBase64) } : {}),
  };
}

const filledTcp = (given: TcpInput, stored: TcpTarget | undefined, kept: Keeper): TcpInput =>
  given.sendBase64 === mask64 ? { ...given, sendBase64: kept.take('tcp.sendBase64', stored?.sendBase64) } : given;

/** A name that stands there several times keeps its values in their order. */
function filledUrl(given: string, stored: string, kept: Keeper): string {
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

/** Shorter ones are in every text by chance. */
const shortest = 6;

/** What is sent with a check, as an answer might repeat it: whole, and word by word (`Bearer …`). */
export function secretsOf(target: Target): string[] {
  const sent =
    'url' in target
      ? [...Object.values(target.headers), ...queryValues(target.url), textOf(target.bodyBase64)]
      : [textOf(target.sendBase64)];
  const words = sent.flatMap((text) => [text.trim(), ...text.split(/\s+/)]);
  return [...new Set(words)].filter((word) => word.length >= shortest).sort((a, b) => b.length - a.length);
}

const textOf = (base64 = '') => Buffer.from(base64, 'base64').toString('utf8');

const queryValues = (url: string): string[] =>
  (split(url).query ?? '').split('&').flatMap((part) => {
    const value = part.slice(nameOf(part).length);
    return [value, ...new URLSearchParams(`v=${value}`).getAll('v')];
  });

/** A text for readers that a target had a hand in: without the secrets that it was sent, and without the queries of URLs. */
export function scrubbed(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) clean = clean.replaceAll(secret, mask);
  const cutOff = secrets.map((secret) => beginningAtEnd(clean, secret)).reduce((a, b) => Math.max(a, b), 0);
  if (cutOff) clean = clean.slice(0, -cutOff) + mask;
  return clean.replaceAll(/https?:\/\/[^\s"'<>]+/gi, shownUrl);
}

/** How much of a secret stands where the text was cut off. */
function beginningAtEnd(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length > mask.length; length--)
    if (text.endsWith(secret.slice(0, length))) return length;
  return 0;
}
