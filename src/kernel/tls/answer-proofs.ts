import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RawHandler } from '../http/plane.ts';
import type { Presented } from './presented.ts';

const prefix = '/.well-known/acme-challenge/';
/** RFC 8555, 8.1: base64url, at least 128 bits. The bound keeps other text from the lookup. */
const tokenPattern = /^[A-Za-z0-9_-]{16,200}$/;

/** HTTP-01 on any listener, for every host: what is answered proves a name only together with our account's key. */
export function answerProofs(presented: Presented): RawHandler {
  return (request, response) => {
    if (!presented.source || !request.url?.startsWith(prefix)) return false;
    // While it was looked for, a server that ends may have refused the request.
    sendProof(presented.source, request, response).catch(() => response.destroy());
    return true;
  };
}

async function sendProof(
  source: NonNullable<Presented['source']>,
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const token = url.slice(prefix.length);
  const isAsked = (method === 'GET' || method === 'HEAD') && tokenPattern.test(token);
  // While the database is away there is nothing to prove either.
  const proof = isAsked ? await source.findHttpProof(token).catch(() => undefined) : undefined;
  if (response.headersSent || response.destroyed) return;
  const body = proof ?? 'there is no such proof\n';
  response
    .writeHead(proof === undefined ? 404 : 200, {
      'Content-Type': 'application/octet-stream',
      'Content-Length': Buffer.byteLength(body),
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
    })
    .end(method === 'HEAD' ? undefined : body);
}
