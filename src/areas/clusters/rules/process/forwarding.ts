/** Whom a certificate of the cluster names. */
export interface CertificateSubject {
  commonName: string;
  organizations: readonly string[];
  fingerprint: string;
}

/** Meant for the next program on the way alone: RFC 9110, 7.6.1. */
const hopByHop = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding'],
  ...['upgrade', 'http2-settings', 'expect'],
]);

/** Where a request came from is ours to say, never the caller's. */
const callerMetadata = /^(x-forwarded-|x-remote-|x-real-ip$|forwarded$|via$)/;

/** Header names as programs may read them: some take an underscore for a hyphen. */
const plainName = (name: string) => name.toLowerCase().replaceAll('_', '-');

/** Names that the connection's ends agreed on by naming them in `Connection`. A body's length is none: without it the body would be read as
 *  another request. */
function namedByConnection(raw: readonly string[]): Set<string> {
  const named = new Set<string>();
  for (let n = 0; n < raw.length; n += 2)
    if (raw[n]!.toLowerCase() === 'connection') for (const each of raw[n + 1]!.split(',')) named.add(plainName(each.trim()));
  named.delete('content-length');
  return named;
}

/** How a request says where its body ends; read from the same headers as those that go on. */
export function framingOf(raw: readonly string[]): 'chunks' | 'length' | 'none' {
  const names = new Set(raw.filter((_, n) => n % 2 === 0).map((name) => name.toLowerCase()));
  return names.has('transfer-encoding') ? 'chunks' : names.has('content-length') ? 'length' : 'none';
}

/** The headers of a request that has no body, whatever its caller said: an apiserver would wait for it, and take the next request for it. */
export function withoutBody(method: string, headers: readonly string[]): string[] {
  const kept = headers.filter((_, n) => headers[n - (n % 2)]!.toLowerCase() !== 'content-length');
  return method === 'GET' || method === 'HEAD' ? kept : [...kept, 'Content-Length', '0'];
}

/** The caller's headers, name and value in turn, as they may go on to an apiserver; undefined: they cannot. */
export function requestHeaders(raw: readonly string[], named: CertificateSubject | undefined): string[] | undefined {
  const dropped = namedByConnection(raw);
  const onward: string[] = [];
  for (let n = 0; n < raw.length; n += 2) {
    const name = plainName(raw[n]!);
    if (hopByHop.has(name) || dropped.has(name) || callerMetadata.test(name)) continue;
    // A certificate says who it is; a token beside it would be a second answer.
    if (named && name === 'authorization') continue;
    onward.push(raw[n]!, raw[n + 1]!);
  }
  const spoken = named ? identityHeaders(named) : [];
  return spoken && [...onward, ...spoken];
}

/** In the words of `--requestheader-…`; undefined: a name that no header can carry. */
function identityHeaders({ commonName, organizations, fingerprint }: CertificateSubject): string[] | undefined {
  if (commonName === '' || [commonName, ...organizations].some((text) => /\p{Cc}/u.test(text))) return undefined;
  return [
    ...['X-Remote-User', asHeader(commonName)],
    ...organizations.flatMap((each) => ['X-Remote-Group', asHeader(each)]),
    ...['X-Remote-Extra-authentication.kubernetes.io%2fcredential-id', `X509SHA256=${fingerprint}`],
  ];
}

/** Headers are bytes: UTF-8, one character for each. */
const asHeader = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

/** The group that every authorizer lets pass: only the house's own certificate names it, never one that the cluster signed. */
export const mastersGroup = 'system:masters';

/** The answer's headers as they may go back. */
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

/** As parts of a pod, a service or a node; a namespace may have any of these names. */
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

/** Requests that stay open as long as somebody listens: they are counted among connections, not among what is under way. */
export function isLongRunning(method: string, url: string): boolean {
  const [path = '', query = ''] = url.split('?', 2) as [string, string?];
  if (isStreamingPath(path)) return true;
  if (method !== 'GET') return false;
  const asked = new URLSearchParams(query);
  const isYes = (value: string | null) => value !== null && ['1', 'true', 't', 'TRUE', 'True', 'T'].includes(value);
  return (
    isYes(asked.get('watch')) || /^\/apis?\/([^/]+\/)?[^/]+\/watch\//.test(path) || (path.endsWith('/log') && isYes(asked.get('follow')))
  );
}

/** What may follow on a connection instead of HTTP. */
export const isUpgrade = (upgrade: string | undefined): boolean => /^(websocket|spdy\/3\.1)$/i.test(upgrade ?? '');
