import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Peers } from './peer.ts';

// Cut from a prefetched supply: requesting a few random bytes at a time costs more than the rest of an id.
let supply = '';
let taken = 0;

export function newRequestId(): string {
  if (taken === supply.length) {
    supply = randomBytes(6_000).toString('base64url');
    taken = 0;
  }
  taken += 16; // 96 bits
  return `req_${supply.slice(taken - 16, taken)}`;
}

/** Request ids are generated here, unless a trusted proxy sent one: they end up in logs, jobs and audit rows. */
export function nameRequest(request: IncomingMessage, peers: Peers): void {
  request.cameByTls = peers.isSecure(request);
  const given = request.headers['x-request-id'];
  request.requestId = typeof given === 'string' && /^[\w.-]{8,100}$/.test(given) && peers.isProxied(request) ? given : newRequestId();
}

/** RFC 6797: a browser that came over TLS uses nothing else for a year. */
export const hsts = 'max-age=31536000';

declare module 'node:http' {
  interface IncomingMessage {
    requestId?: string;
    /** Whether TLS carried it to this server, or to the operator's proxy. */
    cameByTls?: boolean;
  }
}
