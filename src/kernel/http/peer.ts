import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { isTrusted } from './proxies.ts';

/** Where requests come from. Nothing else here looks at an address of a caller, or at what a proxy says of one. */
export interface Peers {
  /** Whose requests are counted together: an address of IPv4, or the /48 of one of IPv6. */
  of(request: IncomingMessage): string;
  /** Whether the operator's own proxy brought it, whose word counts. */
  isProxied(request: IncomingMessage): boolean;
  /** Whether it came by TLS: to us, or to the operator's proxy. */
  isSecure(request: IncomingMessage): boolean;
}

/** A connection that speaks no HTTP, as the limits see it that count callers by where they come from. */
export const asCaller = (socket: Socket): IncomingMessage => ({ socket, headers: {} }) as IncomingMessage;

/** What tells a connection from every other: a socket of TLS and the one below it have the same. */
export const otherEnd = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** Whether it is this machine that speaks: nobody in between can listen. */
export const isFromHere = ({ remoteAddress = '' }: Socket): boolean => /^(?:::ffff:)?127\.|^::1$/.test(remoteAddress);

/** The address that a connection comes from, IPv4 as such. */
export const addressOfPeer = ({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): string => remoteAddress.replace(/^::ffff:/, '');

/** A chain of proxies is short: whoever writes more than this into X-Forwarded-For wants us to read. */
const longest = { characters: 1_000, hops: 20 };

export function makePeers(trustedProxies: string[]): Peers {
  const trusts = isTrusted(trustedProxies);
  const judged = new WeakMap<Socket, boolean>(); // a proxy sends many requests by one connection
  const isProxied = ({ socket }: IncomingMessage) => {
    if (!trustedProxies.length) return false;
    let known = judged.get(socket);
    if (known === undefined) {
      known = trusts(addressOf(socket.remoteAddress ?? ''));
      judged.set(socket, known);
    }
    return known;
  };
  return {
    of: (request) => siteOf(lastStranger(request, trusts)),
    isProxied,
    isSecure: (request) =>
      (request.socket as TLSSocket).encrypted === true ||
      (request.headers['x-forwarded-proto'] !== undefined && isProxied(request) && lastOf(request, 'x-forwarded-proto') === 'https'),
  };
}

/**
 * From us outward: the first address that is none of the operator's proxies. Each hop is the word of the one after it, so a hop that is no
 * address ends the walk at whoever said it: else a caller could be somebody else with every request.
 */
function lastStranger(request: IncomingMessage, trusts: (address: string | undefined) => boolean): string {
  let peer = addressOf(request.socket.remoteAddress ?? '');
  const hops = String(request.headers['x-forwarded-for'] ?? '')
    .slice(-longest.characters)
    .split(',')
    .slice(-longest.hops);
  for (let hop = hops.pop(); hop !== undefined && trusts(peer); hop = hops.pop()) {
    const said = addressOf(hop.trim());
    if (said === undefined) break;
    peer = said;
  }
  return peer ?? '';
}

/** `192.0.2.1`, `192.0.2.1:443`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:443`: the address in it, or undefined. */
function addressOf(text: string): string | undefined {
  const [, bracketed, dotted] = /^"?(?:\[([^\]]+)\](?::\d{1,5})?|(\d+\.\d+\.\d+\.\d+):\d{1,5})"?$/.exec(text) ?? [];
  const address = bracketed ?? dotted ?? text;
  return ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address) ? address : undefined;
}

/**
 * One customer of a provider has at most a /48 of IPv6 (RFC 6177), which tunnel brokers give away: it counts as one. By /64, its holder would
 * have 65,536 shares. Customers who have less of a common /48 share its bounds, as people behind one address of IPv4 do.
 */
function siteOf(peer: string): string {
  if (peer === '') return peer; // a unix socket
  const address = ipaddr.process(peer);
  return address instanceof ipaddr.IPv6
    ? `${address.parts
        .slice(0, 3)
        .map((part) => part.toString(16))
        .join(':')}::/48`
    : address.toString();
}

const lastOf = (request: IncomingMessage, name: string) => String(request.headers[name]).split(',').pop()!.trim().toLowerCase();
