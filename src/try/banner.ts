import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** No style and no script, since each page's own policy allows only its own. */
const banner =
  '<p role="note"><strong>Trying out (--try): nothing leaves this machine.</strong> <a href="/try/">Inbox, phone and webhooks</a></p>';

/** By bytes: a chunk may end in the middle of a character. */
export const withBanner = (chunk: unknown): unknown => {
  if (typeof chunk !== 'string' && !Buffer.isBuffer(chunk)) return chunk;
  const bytes = Buffer.from(chunk as string);
  const begin = bytes.indexOf('<body');
  const end = begin < 0 ? -1 : bytes.indexOf('>', begin);
  return end < 0 ? bytes : Buffer.concat([bytes.subarray(0, end + 1), Buffer.from(banner), bytes.subarray(end + 1)]);
};

const isHtml = (value: unknown) => typeof value === 'string' && value.startsWith('text/html');

/**
 * Puts the banner at the top of the HTML page that this response becomes, whichever part of the server sends it. Pages are sent whole or
 * in chunks that each hold a whole tag. The banner changes their length, so a page is sent without one, and uncompressed.
 */
export function addBanner(request: IncomingMessage, response: ServerResponse): void {
  delete request.headers['accept-encoding'];
  let isPage = false;
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
  const write = response.write.bind(response) as (...args: unknown[]) => boolean;
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
  response.writeHead = ((status: number, ...rest: unknown[]) => {
    const given = rest.at(-1);
    const headers = typeof given === 'object' && given !== null ? headersOf(given as OutgoingHttpHeaders) : [];
    isPage =
      headers.some(([name, value]) => name.toLowerCase() === 'content-type' && isHtml(value)) || isHtml(response.getHeader('content-type'));
    if (!isPage || request.method === 'HEAD') return writeHead(status, ...rest);
    response.removeHeader('content-length');
    for (const [name, value] of headers) if (name.toLowerCase() !== 'content-length') response.setHeader(name, value as string);
    return writeHead(status);
  }) as typeof response.writeHead;
  // A stream writes before anything calls writeHead, which is where a page is told from the rest.
  const bannered = (chunk: unknown) => {
    if (!response.headersSent) response.writeHead(response.statusCode);
    return isPage ? withBanner(chunk) : chunk;
  };
  response.write = ((chunk: unknown, ...rest: unknown[]) => write(bannered(chunk), ...rest)) as typeof response.write;
  response.end = ((chunk: unknown, ...rest: unknown[]) => end(isPage ? withBanner(chunk) : chunk, ...rest)) as typeof response.end;
}

/** Names and values, of an object or of a list in which they alternate. */
function headersOf(given: OutgoingHttpHeaders | OutgoingHttpHeader[]): [string, OutgoingHttpHeader | undefined][] {
  if (!Array.isArray(given)) return Object.entries(given);
  return given.flatMap((name, at) => (at % 2 === 0 ? [[String(name), given[at + 1]] as [string, OutgoingHttpHeader]] : []));
}
