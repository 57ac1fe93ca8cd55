import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Counter, Gauge, type Registry } from 'prom-client';
import { boundedTo } from '../bounded-map.ts';
import { guarded } from '../faults/guarded.ts';
import { asCaller, type Peers } from './peer.ts';

// Callers without a login may hold some connections, not all. A connection is anonymous until a request on it had a valid token. An address
// is known while one of its connections is. A connection whose output is not read is closed.

export interface ConnectionLimits {
  /** Output that does not move for this long closes its connection. */
  unreadMs: number;
  anonymousPerAddress: number;
  /** The rest is reserved for known connections and known addresses. */
  anonymousInAll: number;
  inAll: number;
}

export const connectionLimits: ConnectionLimits = { unreadMs: 30_000, anonymousPerAddress: 500, anonymousInAll: 8_000, inAll: 10_000 };

/** How many connections are checked to find an idle one. */
const maxScanned = 256;

/** The first request of a connection may be on its way for this long: a server that ends waits for it. */
const firstRequestMs = 500;
/** How often connections are checked while the server ends. */
const endCheckMs = 20;
/** A response that refuses is read within this time, or its connection is cut. */
const lastReadMs = 500;

/** Requests that were still under way when the time for them was over. */
export interface UnfinishedRequests {
  /** Without a response so far: their callers were told to come again. */
  refused: number;
  /** Their responses were cut short. */
  cut: number;
}

/** Node's internals of a socket: bytes given to write, and bytes still queued. */
type NodeSocket = Socket & { _handle?: { bytesWritten: number; writeQueueSize: number } | null; _parent?: Socket };

class TrackedConnection {
  readonly socket: NodeSocket;
  /** The socket that carries HTTP: the TCP socket, or TLS on top of it. */
  httpSocket: Socket & { _httpMessage?: ServerResponse | null };
  readonly address: string;
  readonly openedAt = performance.now();
  isAnonymous = true;
  hadRequest = false;
  bytesSent = 0;
  stalledSince: number | undefined;

  constructor(socket: Socket, address: string) {
    this.socket = socket as NodeSocket;
    this.httpSocket = socket;
    this.address = address;
  }

  /** How long its output has not moved, in milliseconds. */
  stalledMs(now: number): number {
    const handle = this.socket._handle;
    if (!handle || handle.writeQueueSize === 0) this.stalledSince = undefined;
    else {
      const moved = handle.bytesWritten - handle.writeQueueSize;
      if (this.stalledSince === undefined || moved !== this.bytesSent) this.stalledSince = now;
      this.bytesSent = moved;
    }
    return this.stalledSince === undefined ? 0 : now - this.stalledSince;
  }

  /** The response that it waits for or sends. */
  get response(): ServerResponse | undefined {
    return responseOn(this.httpSocket);
  }

  closeAfterResponse(): void {
    closeAfterResponse(this.httpSocket);
  }
}

/** The response that a connection waits for or sends. `socket` carries HTTP: the TCP socket, or TLS on top of it. */
export const responseOn = (socket: Socket & { _httpMessage?: ServerResponse | null }): ServerResponse | undefined =>
  socket._httpMessage ?? undefined;

/** Closes a connection after the response in flight. */
export function closeAfterResponse(socket: Socket): void {
  const response = responseOn(socket);
  if (!response) return;
  const close = guarded('http.connections.finish', socket, () => void socket.destroySoon());
  if (response.headersSent) response.once('finish', close);
  else response.shouldKeepAlive = false;
}

const tracked = new WeakMap<Socket, { connection: TrackedConnection; become(connection: TrackedConnection): void }>();
const selfWatched = new WeakSet<Socket>();

/** A request on this connection had a valid token. */
export function markKnown({ socket }: IncomingMessage): void {
  const found = tracked.get(socket);
  if (found?.connection.isAnonymous) found.become(found.connection);
}

/** While this response is sent, its sender checks itself whether it is read. */
export function skipUnreadCheck({ req: { socket } }: Pick<ServerResponse, 'req'>): (() => void) | undefined {
  if (selfWatched.has(socket)) return undefined;
  selfWatched.add(socket);
  return () => selfWatched.delete(socket);
}

export class Connections {
  readonly #peers: Peers;
  readonly #limits: ConnectionLimits;
  readonly #all = new Set<TrackedConnection>();
  readonly #anonymous = new Set<TrackedConnection>();
  readonly #byAddress = new Map<string, Set<TrackedConnection>>();
  readonly #knownAddresses = new LRUCache<string, true>(boundedTo(10_000));
  readonly #closed: Counter<'reason'> | undefined;
  readonly #servers: Server[] = [];
  #isDraining = false;

  constructor(peers: Peers, limits: ConnectionLimits = connectionLimits, registry?: Registry) {
    this.#peers = peers;
    this.#limits = limits;
    if (!registry) return;
    const count = { all: () => this.#all.size, anonymous: () => this.#anonymous.size };
    new Gauge({
      name: 'quarterdeck_http_connections',
      help: 'Open connections on the main port, by whether a good token came by them',
      labelNames: ['kind'],
      registers: [registry],
      collect() {
        this.set({ kind: 'anonymous' }, count.anonymous());
        this.set({ kind: 'known' }, count.all() - count.anonymous());
      },
    });
    this.#closed = new Counter({
      name: 'quarterdeck_http_connections_closed_total',
      help: 'Connections that were closed because their answer was not read (unread), or because there were too many (idle, refused)',
      labelNames: ['reason'],
      registers: [registry],
    });
  }

  watch(server: Server): void {
    this.#servers.push(server);
    const admit = (socket: Socket) => this.#admit(socket);
    const admitSecure = (socket: NodeSocket) => {
      const below = socket._parent && tracked.get(socket._parent);
      if (!below) return;
      below.connection.httpSocket = socket;
      tracked.set(socket, below);
    };
    server.on(
      'connection',
      guarded('http.connections.open', ([socket]) => socket, admit),
    );
    server.on(
      'secureConnection',
      guarded('http.connections.secure', ([socket]) => socket, admitSecure),
    );
    server.on(
      'request',
      guarded(
        'http.connections.request',
        ([{ socket }]) => socket,
        ({ socket }: IncomingMessage) => {
          const found = tracked.get(socket);
          if (found) found.connection.hadRequest = true;
        },
      ),
    );
    const timer = setInterval(() => this.#closeUnread(performance.now()), Math.min(5_000, this.#limits.unreadMs / 4)).unref();
    server.once('close', () => clearInterval(timer));
  }

  /** The server ends soon: from now on every connection closes with its next response. New ones are still accepted. */
  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    const close = guarded(
      'http.connections.drain',
      ([{ socket }]) => socket,
      (_request: IncomingMessage, response: ServerResponse) => {
        response.shouldKeepAlive = false;
      },
    );
    for (const server of this.#servers) server.prependListener('request', close);
    for (const connection of this.#all) connection.closeAfterResponse();
  }

  /**
   * Once no more are accepted: closes idle connections at once and the others after their response, for at most `limitMs`. Then requests
   * without a response are refused, and the rest is cut.
   */
  async end(limitMs: number, refuse: (request: IncomingMessage, response: ServerResponse) => void): Promise<UnfinishedRequests> {
    this.drain();
    const until = performance.now() + limitMs;
    await this.#closeIdleUntil(until);
    const ended: UnfinishedRequests = { refused: 0, cut: 0 };
    for (const { response } of this.#all) {
      if (!response || response.headersSent) continue;
      ended.refused++;
      refuse(response.req, response);
    }
    if (ended.refused > 0) await this.#closeIdleUntil(performance.now() + lastReadMs);
    for (const { response, httpSocket, socket } of this.#all) {
      if (response && !response.writableEnded) ended.cut++;
      httpSocket.destroy();
      socket.destroy();
    }
    return ended;
  }

  /** Returns when no connection is left, or at that time. */
  async #closeIdleUntil(until: number): Promise<void> {
    while (this.#all.size > 0) {
      // After a turn of the event loop: a request that has arrived is parsed by then.
      await new Promise(setImmediate);
      const now = performance.now();
      for (const { response, hadRequest, openedAt, httpSocket, socket } of this.#all) {
        if (response || (!hadRequest && now - openedAt < firstRequestMs)) continue;
        httpSocket.destroy();
        socket.destroy();
      }
      if (now >= until || this.#all.size === 0) return;
      await sleep(Math.min(endCheckMs, until - now));
    }
  }

  #admit(socket: Socket): void {
    const caller = asCaller(socket);
    const address = this.#peers.of(caller);
    const connection = new TrackedConnection(socket, address);
    this.#all.add(connection);
    socket.once(
      'close',
      guarded('http.connections.close', socket, () => this.#forget(connection)),
    );
    // The operator's proxy carries all clients, and limits them itself; a unix socket is local.
    const isTrusted = address === '' || this.#peers.isProxied(caller);
    if (isTrusted) connection.isAnonymous = false;
    else if (!this.#makeRoom(address)) {
      this.#close(connection, 'refused');
      return;
    }
    tracked.set(socket, { connection, become: (known) => this.#becomeKnown(known) });
    if (isTrusted) return;
    this.#anonymous.add(connection);
    const sameAddress = this.#byAddress.get(address);
    if (sameAddress) sameAddress.add(connection);
    else this.#byAddress.set(address, new Set([connection]));
  }

  /** Closes the oldest idle connection if the limit is reached. False: none is idle. */
  #makeRoom(address: string): boolean {
    const sameAddress = this.#byAddress.get(address);
    if (sameAddress && sameAddress.size >= this.#limits.anonymousPerAddress && !this.#closeIdle(sameAddress)) return false;
    const isKnown = this.#knownAddresses.has(address);
    const isFull = isKnown ? this.#all.size > this.#limits.inAll : this.#anonymous.size >= this.#limits.anonymousInAll;
    return !isFull || this.#closeIdle(this.#anonymous);
  }

  #closeIdle(among: ReadonlySet<TrackedConnection>): boolean {
    let scanned = 0;
    for (const connection of among) {
      if (++scanned > maxScanned) break;
      if (connection.httpSocket._httpMessage) continue;
      this.#close(connection, 'idle');
      return true;
    }
    return false;
  }

  #becomeKnown(connection: TrackedConnection): void {
    connection.isAnonymous = false;
    this.#knownAddresses.set(connection.address, true);
    this.#forgetAnonymous(connection);
  }

  #closeUnread(now: number): void {
    for (const connection of this.#all)
      if (connection.stalledMs(now) >= this.#limits.unreadMs && !selfWatched.has(connection.httpSocket)) this.#close(connection, 'unread');
  }

  #close(connection: TrackedConnection, reason: 'unread' | 'idle' | 'refused'): void {
    this.#closed?.inc({ reason });
    this.#forget(connection);
    connection.httpSocket.destroy();
    connection.socket.destroy();
  }

  #forget(connection: TrackedConnection): void {
    this.#all.delete(connection);
    this.#forgetAnonymous(connection);
  }

  #forgetAnonymous(connection: TrackedConnection): void {
    this.#anonymous.delete(connection);
    const sameAddress = this.#byAddress.get(connection.address);
    if (sameAddress?.delete(connection) && sameAddress.size === 0) this.#byAddress.delete(connection.address);
  }
}
