import type { IncomingMessage } from 'node:http';
import { isTrusted } from '../../../kernel/http/proxies.ts';

/** Where a request comes from: the last address in X-Forwarded-For that is none of the operator's own proxies. */
export function peerOf(trustedProxies: string[]): (request: IncomingMessage) => string {
  const trusts = isTrusted(trustedProxies);
  return (request) => {
    let peer = request.socket.remoteAddress ?? '';
    const hops = String(request.headers['x-forwarded-for'] ?? '').split(',');
    while (hops.length && trusts(peer)) {
      const before = hops.pop()!.trim();
      if (before === '') break;
      peer = before;
    }
    return peer;
  };
}
