import type { Socket } from 'node:net';

// Connections without a certificate of the cluster and without a token that it accepted. They are limited in total and per address. A new
// connection may be a node or an administrator about to authenticate, so it is accepted and another one is closed: the oldest one without a
// request in flight, of the address with the most connections. So an attacker evicts its own connections first.

export interface UnauthenticatedLimits {
  total: number;
  /** Per address; the operator's proxies are exempt. */
  perAddress: number;
}

export interface UnauthenticatedConnections<S extends Socket> {
  /** Counts a connection until it is closed or authenticated. May close another one. */
  add(socket: S): void;
  /** The connection authenticated, or is closed. */
  remove(socket: S): void;
  has(socket: S): boolean;
  /** Closes one connection, by the rule above. False: there is none. */
  evict(): boolean;
  size(): number;
  /** Counts a request. Undefined: too many are in flight. The returned function ends it; a second call does nothing. */
  beginRequest(socket: S): (() => void) | undefined;
}

export interface UnauthenticatedOptions<S extends Socket> {
  connections: () => UnauthenticatedLimits;
  requests: () => UnauthenticatedLimits;
  /** The key by which connections are counted. Undefined: the operator's proxy, which carries many callers. */
  addressOf(socket: S): string | undefined;
  close(socket: S): void;
}

interface AddressConnections<S> {
  /** Oldest first. */
  sockets: Set<S>;
  isExempt: boolean;
}

export function makeUnauthenticatedConnections<S extends Socket>(options: UnauthenticatedOptions<S>): UnauthenticatedConnections<S> {
  const { connections, requests, addressOf, close } = options;
  const addresses = new Map<string, AddressConnections<S>>();
  const keyOf = new Map<S, string>();
  /** Requests in flight, by connection and by address. */
  const busy = new Map<S, number>();
  const busyFrom = new Map<string, number>();
  let inflight = 0;

  const remove = (socket: S) => {
    const key = keyOf.get(socket);
    if (key === undefined) return;
    keyOf.delete(socket);
    const address = addresses.get(key)!;
    address.sockets.delete(socket);
    if (address.sockets.size === 0) addresses.delete(key);
  };
  const evictFrom = ({ sockets }: AddressConnections<S>, newcomer?: S): boolean => {
    let victim: S | undefined;
    for (const socket of sockets) {
      if (socket === newcomer) continue;
      victim ??= socket;
      if (busy.has(socket)) continue;
      victim = socket;
      break;
    }
    victim ??= newcomer;
    if (!victim) return false;
    remove(victim);
    close(victim);
    return true;
  };
  const evict = (newcomer?: S): boolean => {
    let largest: AddressConnections<S> | undefined;
    for (const address of addresses.values()) if (!largest || address.sockets.size > largest.sockets.size) largest = address;
    return largest ? evictFrom(largest, newcomer) : false;
  };
  const count = <K>(counts: Map<K, number>, key: K, by: number) => {
    const now = (counts.get(key) ?? 0) + by;
    if (now > 0) counts.set(key, now);
    else counts.delete(key);
  };

  return {
    add(socket) {
      const found = addressOf(socket);
      const key = found ?? '';
      const address = addresses.get(key) ?? { sockets: new Set(), isExempt: found === undefined };
      addresses.set(key, address);
      address.sockets.add(socket);
      keyOf.set(socket, key);
      const { total, perAddress } = connections();
      if (address.sockets.size > perAddress && !address.isExempt) evictFrom(address, socket);
      else if (keyOf.size > total) evict(socket);
    },
    remove,
    has: (socket) => keyOf.has(socket),
    evict: () => evict(),
    size: () => keyOf.size,
    beginRequest(socket) {
      const key = keyOf.get(socket) ?? '';
      const { total, perAddress } = requests();
      if (inflight >= total || (key !== '' && (busyFrom.get(key) ?? 0) >= perAddress)) return undefined;
      inflight++;
      count(busy, socket, 1);
      count(busyFrom, key, 1);
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        inflight--;
        count(busy, socket, -1);
        count(busyFrom, key, -1);
      };
    },
  };
}
