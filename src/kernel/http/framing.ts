import type { IncomingMessage } from 'node:http';
import { Refusal } from '../errors.ts';

// Requests that node's parser accepts and we refuse: two parsers could disagree about their target or their end.

/** RFC 9110, 7.2 and RFC 3986, 3.2.2: a name or an address, and perhaps a port. */
const authority = /^(?:[\w.~!$&'()*+,;=%-]+|\[[\w:.%~-]+\])(?::\d{0,5})?$/;
const absolute = /^https?:\/\/([^/?#]*)/i;

/** Throws for an ambiguous request, and leaves every other one with a path as its URL. */
export function checkFraming(request: IncomingMessage): void {
  if (request.httpVersionMajor !== 1) throw new Refusal(400, 'malformed', 'this is no version of HTTP that is spoken here; send HTTP/1.1');
  checkHost(request);
  const encoding = request.headers['transfer-encoding'];
  if (encoding !== undefined && (encoding.toLowerCase() !== 'chunked' || request.httpVersion === '1.0'))
    throw new Refusal(400, 'malformed', 'the Transfer-Encoding must be chunked and nothing else, in HTTP/1.1');
  const { url = '' } = request;
  if (url[0] !== '/' && url !== '*') takeAbsolute(request, url);
}

/** RFC 9112, 3.2: exactly one, and well-formed. node keeps the first of several, a proxy in front of us perhaps the last. */
function checkHost({ headers: { host }, rawHeaders, httpVersion }: IncomingMessage): void {
  if (host === undefined) {
    if (httpVersion === '1.0') return;
    throw new Refusal(400, 'invalid', 'the Host header is missing; HTTP/1.1 needs one');
  }
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  if (hosts !== 1) throw new Refusal(400, 'invalid', 'there are several Host headers; send exactly one');
  if (!authority.test(host)) throw new Refusal(400, 'invalid', 'the Host header is not a host name or address, with or without a port');
}

/** RFC 9112, 3.2.2: an absolute URL overrides the Host header. */
function takeAbsolute(request: IncomingMessage, url: string): void {
  const [whole = '', host = ''] = absolute.exec(url) ?? [];
  const path = url.slice(whole.length);
  if (!authority.test(host)) throw new Refusal(400, 'malformed', 'the request target must be a path such as /api/v1/me');
  request.headers.host = host;
  request.url = path[0] === '/' ? path : `/${path}`;
}
