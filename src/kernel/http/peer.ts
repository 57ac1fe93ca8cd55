import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { isTrusted } from './proxies.ts';

/** Where a request comes from: the last address in X-Forwarded-For that is none of the operator's own proxies. */
export function peerOf(trustedProxies: string[]): (request: IncomingMessage) => string {
  const trusts = isTrusted(trustedProxies);
  return (request) => {
    const hops = String(request.headers['x-forwarded-for'] ?? '')
      .split(',')
      .map((hop) => hop.trim());
    let peer = request.socket.remoteAddress ?? '';
    for (let hop = hops.pop(); hop && trusts(peer); hop = hops.pop()) peer = hop;
    return household(peer);
  };
}

/** One subscriber line has 2⁶⁴ addresses of IPv6: they count as one. */
function household(peer: string): string {
  if (!ipaddr.isValid(peer)) return peer;
  const address = ipaddr.process(peer);
  return address instanceof ipaddr.IPv6 ? `${address.parts.slice(0, 4).join(':')}/64` : address.toString();
}
