import type { Socket } from 'node:net';

// Connections whose caller has proven nothing yet: neither a certificate of the cluster nor a token that it takes. They are bounded in all and
// by address. A newcomer may be a node or an administrator on the way to its proof, so the newcomer is let in and another connection is closed:
// of the address that has most, the oldest one that has no request under way. An attacker thereby pushes out its own connections first.

export interface UnauthenticatedLimits {
  total: number;
  /** Of one address; the operator's proxies are exempt. */
  perAddress: number;
}

export interface UnauthenticatedConnections<S extends Socket> {
  /** Counts a connection until it is closed or proven. May close another one. */
  add(socket: S): void;
  /** It has proven who it is, or is closed. */
  remove(socket: S): void;
  has(socket: S): boolean;
  /** Closes one, the newest last. False: there is none. */
  evict(): boolean;
  size(): number;
  /** Counts a request of a connection. Undefined: there are too many under way. The returned function ends it; a second call does nothing. */
  beginRequest(socket: S): (() => void) | undefined;
}

export interface UnauthenticatedOptions<S extends Socket> {
  connections: () => UnauthenticatedLimits;
  requests: () => UnauthenticatedLimits;
  /** Whose connections are counted together. Undefined: the operator's proxy, which brings many. */
  addressOf(socket: S): string | undefined;
  close(socket: S): void;
}

interface AddressConnections<S> {
  /** In the order in which they came. */
  sockets: Set<S>;
  isExempt: boolean;
}

export function makeUnauthenticatedConnections<S extends Socket>({
  connections,
  requests,
  addressOf,
  close,
}: UnauthenticatedOptions<S>): UnauthenticatedConnections<S> {
  const addresses = new Map<string, AddressConnections<S>>();
  const keyOf = new Map<S, string>();
  /** Requests under way, by connection and by address. */
  const busy = new Map<S, number>();
  const busyFrom = new Map<string, number>();
  let underway = 0;

  const leave = (socket: S) => {
    const key = keyOf.get(socket);
    if (key === undefined) return;
    keyOf.delete(socket);
    const address = addresses.get(key)!;
    address.sockets.delete(socket);
    if (address.sockets.size === 0) addresses.delete(key);
  };
  const evictFrom = ({ sockets }: AddressConnections<S>, but?: S): boolean => {
    let victim: S | undefined;
    for (const socket of sockets) {
      if (socket === but) continue;
      victim ??= socket;
      if (busy.has(socket)) continue;
      victim = socket;
      break;
    }
    victim ??= but;
    if (!victim) return false;
    leave(victim);
    close(victim);
    return true;
  };
  const evict = (but?: S): boolean => {
    let most: AddressConnections<S> | undefined;
    for (const address of addresses.values()) if (!most || address.sockets.size > most.sockets.size) most = address;
    return most ? evictFrom(most, but) : false;
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
    remove: leave,
    has: (socket) => keyOf.has(socket),
    evict: () => evict(),
    size: () => keyOf.size,
    beginRequest(socket) {
      const key = keyOf.get(socket) ?? '';
      const { total, perAddress } = requests();
      if (underway >= total || (key !== '' && (busyFrom.get(key) ?? 0) >= perAddress)) return undefined;
      underway++;
      count(busy, socket, 1);
      count(busyFrom, key, 1);
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        underway--;
        count(busy, socket, -1);
        count(busyFrom, key, -1);
      };
    },
  };
}
