/** The subject of a client certificate. */
export interface CertificateSubject {
  commonName: string;
  organizations: readonly string[];
  fingerprint: string;
}

/** Hop-by-hop headers: RFC 9110, 7.6.1. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
]);

/** Headers about the caller are set by the front, never by the caller. */
const callerMetadata = /^(x-forwarded-|x-remote-|x-real-ip$|forwarded$|via$)/;

/** Normalizes header names: some programs treat an underscore as a hyphen. */
const plainName = (name: string) => name.toLowerCase().replaceAll('_', '-');

/**
 * Headers named in `Connection`, which are hop-by-hop too. Content-Length is not: without it the body would be read as another request. Nor is
 * Authorization: without it a request is answered that the front takes for one of the token's owner.
 */
function namedByConnection(raw: readonly string[]): Set<string> {
  const named = new Set<string>();
  for (let n = 0; n < raw.length; n += 2)
    if (raw[n]!.toLowerCase() === 'connection') for (const each of raw[n + 1]!.split(',')) named.add(plainName(each.trim()));
  for (const kept of ['content-length', 'authorization']) named.delete(kept);
  return named;
}

/** How a request frames its body; read from the same headers that are forwarded. */
export function framingOf(raw: readonly string[]): 'chunks' | 'length' | 'none' {
  const names = new Set(raw.filter((_, n) => n % 2 === 0).map((name) => name.toLowerCase()));
  return names.has('transfer-encoding') ? 'chunks' : names.has('content-length') ? 'length' : 'none';
}

/** Headers of a request without a body. A leftover Content-Length would make an apiserver read the next request as the body. */
export function withoutBody(method: string, headers: readonly string[]): string[] {
  const kept = headers.filter((_, n) => headers[n - (n % 2)]!.toLowerCase() !== 'content-length');
  return method === 'GET' || method === 'HEAD' ? kept : [...kept, 'Content-Length', '0'];
}

/** The headers to forward to an apiserver, as alternating names and values. Undefined: the caller's name fits in no header. */
export function requestHeaders(raw: readonly string[], named: CertificateSubject | undefined): string[] | undefined {
  const dropped = namedByConnection(raw);
  const onward: string[] = [];
  for (let n = 0; n < raw.length; n += 2) {
    const name = plainName(raw[n]!);
    if (hopByHop.has(name) || dropped.has(name) || callerMetadata.test(name)) continue;
    // The certificate identifies the caller; a token beside it would be a second identity.
    if (named && name === 'authorization') continue;
    onward.push(raw[n]!, raw[n + 1]!);
  }
  const spoken = named ? identityHeaders(named) : [];
  return spoken && [...onward, ...spoken];
}

/** The headers of `--requestheader-…`; undefined: a name that fits in no header. */
function identityHeaders({ commonName, organizations, fingerprint }: CertificateSubject): string[] | undefined {
  if (commonName === '' || [commonName, ...organizations].some((text) => /\p{Cc}/u.test(text))) return undefined;
  return [
    'X-Remote-User',
    asHeader(commonName),
    ...organizations.flatMap((each) => ['X-Remote-Group', asHeader(each)]),
    'X-Remote-Extra-authentication.kubernetes.io%2fcredential-id',
    `X509SHA256=${fingerprint}`,
  ];
}

/** Node writes headers as latin1, so UTF-8 bytes are mapped to one character each. */
const asHeader = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

/** The group with all rights. Only internal certificates may name it, never one that the cluster signed. */
export const mastersGroup = 'system:masters';

/** The response headers to return. */
export function responseHeaders(raw: readonly string[]): string[] {
  const dropped = namedByConnection(raw);
  const back: string[] = [];
  for (let n = 0; n < raw.length; n += 2) {
    const name = plainName(raw[n]!);
    if (!hopByHop.has(name) && !dropped.has(name)) back.push(raw[n]!, raw[n + 1]!);
  }
  return back;
}

const streamingSubresources = new Set(['exec', 'attach', 'portforward', 'proxy']);

/** Matches subresources of pods, services and nodes by position, because a namespace may have any of these names. */
function isStreamingPath(path: string): boolean {
  const [root, api, version, kind, ...rest] = path.split('/', 9);
  if (root !== '' || api !== 'api' || version !== 'v1') return false;
  if (kind === 'nodes') return Boolean(rest[0]) && streamingSubresources.has(rest[1]!);
  const [namespace, resource, name, part] = rest;
  return (
    kind === 'namespaces' &&
    Boolean(namespace) &&
    (resource === 'pods' || resource === 'services') &&
    Boolean(name) &&
    streamingSubresources.has(part!)
  );
}

const flags = { watch: /(?:^|&)watch=([^&]*)/, follow: /(?:^|&)follow=([^&]*)/ };
/** Kubernetes decodes names; one that is written like this counts as a request in flight. */
const encodedName = /(?:^|&)[^=&]*%/;

/** Its first value counts, as in Kubernetes. The others are not decoded: a query may be as long as all headers, and comes from strangers too. */
const isFlagSet = (query: string, flag: RegExp): boolean =>
  ['1', 'true', 't', 'TRUE', 'True', 'T'].includes(flag.exec(query)?.[1] ?? '') && !encodedName.test(query);

/** Long-running requests: they count as connections, not as requests in flight. */
export function isLongRunning(method: string, url: string): boolean {
  const [path = '', query = ''] = url.split('?', 2) as [string, string?];
  if (isStreamingPath(path)) return true;
  if (method !== 'GET') return false;
  return (
    isFlagSet(query, flags.watch) ||
    /^\/apis?\/([^/]+\/)?[^/]+\/watch\//.test(path) ||
    (path.endsWith('/log') && isFlagSet(query, flags.follow))
  );
}

/** The protocols that a connection may upgrade to. */
export const isUpgrade = (upgrade: string | undefined): boolean => /^(websocket|spdy\/3\.1)$/i.test(upgrade ?? '');
