import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { isTrusted } from './proxies.ts';

/** The client addresses of requests. No other code reads a caller's address or a proxy's headers. */
export interface Peers {
  /** The key by which requests are counted: an IPv4 address, or the /48 of an IPv6 address. */
  of(request: IncomingMessage): string;
  /** Whether the operator's proxy forwarded it, whose headers are trusted. */
  isProxied(request: IncomingMessage): boolean;
  /** Whether it came over TLS: to this server, or to the operator's proxy. */
  isSecure(request: IncomingMessage): boolean;
  /** Whether the caller is on this machine; behind the operator's proxy, as the proxy says. */
  isHere(request: IncomingMessage): boolean;
}

/** A non-HTTP connection in the form that limits by address expect. */
export const asCaller = (socket: Socket): IncomingMessage => ({ socket, headers: {} }) as IncomingMessage;

/** Identifies a connection: a TLS socket and the socket below it have the same value. */
export const otherEnd = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** Whether the client is on this machine, so that nothing in between can listen. */
export const isLocalPeer = ({ remoteAddress = '' }: Socket): boolean => /^(?:::ffff:)?127\.|^::1$/.test(remoteAddress);

/** The remote address of a connection; IPv4-mapped addresses as IPv4. */
export const addressOfPeer = ({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): string => remoteAddress.replace(/^::ffff:/, '');

/** A chain of proxies is short. A longer X-Forwarded-For is an attempt to make the server parse it. */
const forwardedLimits = { characters: 1_000, hops: 20 };

export function makePeers(trustedProxies: string[]): Peers {
  const trusts = isTrusted(trustedProxies);
  const trustedBySocket = new WeakMap<Socket, boolean>(); // a proxy sends many requests on one connection
  const isProxied = ({ socket }: IncomingMessage) => {
    if (!trustedProxies.length) return false;
    let known = trustedBySocket.get(socket);
    if (known === undefined) {
      known = trusts(addressOf(socket.remoteAddress ?? ''));
      trustedBySocket.set(socket, known);
    }
    return known;
  };
  const of = (request: IncomingMessage) => addressGroup(clientAddress(request, trusts));
  return {
    of,
    isHere: (request) =>
      isLocalPeer(request.socket) &&
      // To parse addresses costs as much as the rest of a hot request.
      (request.headers['x-forwarded-for'] === undefined || !isProxied(request) || /^(?:127\.|0:0:0::)/.test(of(request))),
    isProxied,
    isSecure: (request) =>
      (request.socket as TLSSocket).encrypted === true ||
      (request.headers['x-forwarded-proto'] !== undefined && isProxied(request) && lastOf(request, 'x-forwarded-proto') === 'https'),
  };
}

/**
 * From this server outward: the first address that is not one of the operator's proxies. Each hop is reported by the one after it. An
 * invalid hop ends the walk at its reporter; otherwise a client could change its address with every request.
 */
function clientAddress(request: IncomingMessage, trusts: (address: string | undefined) => boolean): string {
  let peer = addressOf(request.socket.remoteAddress ?? '');
  const hops = String(request.headers['x-forwarded-for'] ?? '')
    .slice(-forwardedLimits.characters)
    .split(',')
    .slice(-forwardedLimits.hops);
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
 * One customer of a provider has at most a /48 of IPv6 (RFC 6177), which tunnel brokers give away: it counts as one. By /64, its holder
 * would have 65,536 shares. Customers within one /48 share its limits, as people behind one IPv4 address do.
 */
function addressGroup(peer: string): string {
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
