import { constants } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { isUpgrade } from '../../../../drivers/process/index.ts';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { type ConnectionLimits, Connections, connectionLimits, skipUnreadCheck } from '../../../../kernel/http/connections.ts';
import { asCaller, type Peers } from '../../../../kernel/http/peer.ts';
import { onePerConnection } from '../../../../kernel/http/pipelining.ts';
import { refuseMalformed } from '../../../../kernel/http/server.ts';
import { type ListeningSockets, ownSockets } from '../../../../kernel/lifecycle/listening-sockets.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { wallClock } from '../../../../kernel/wall-clock.ts';
import type { ClusterListener, ListenerKeys } from '../../engine/shard/listener.ts';
import { type AddressOf, acceptNoMore, closeServer, closeSockets, cutSockets, drainServers, type FrontParts } from './close.ts';
import { throttleHandshakes } from './handshakes.ts';
import { type Authorities, type PresentedCertificate, readAuthorities, readClientCertificate } from './identify.ts';
import { leaveConnections } from './leave.ts';
import { makePeople, type People } from './people.ts';
import { refuse, refuseExpectation } from './refuse.ts';
import type { HttpFront, ListenerOptions } from './types.ts';
import { makeUnauthenticatedConnections, type UnauthenticatedConnections } from './unauthenticated.ts';

// TLS listeners of clusters. Each cluster has its own port, because a kubelet's configuration keeps no server name. With a domain all clusters
// share one port, and the TLS server name selects the cluster.

const limits = {
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  lookEveryMs: 5_000,
  keepAliveMs: 90_000,
  maxHeaderBytes: 65_536,
  maxConnections: 20_000,
};
/** The share of a tier's connections and requests for unauthenticated callers; the rest is reserved for authenticated ones. */
const unauthenticatedShare = { total: 1 / 2, perAddress: 1 / 4 };
const unauthenticatedLimits = (max: number) => ({
  total: Math.ceil(max * unauthenticatedShare.total),
  perAddress: Math.ceil(max * unauthenticatedShare.perAddress),
});

/** No session resumption: a client must present its certificate again, which may have been refused since. */
const secureOptions = constants.SSL_OP_NO_TICKET;

/** A cluster behind a listener. */
interface ServedCluster {
  options: ListenerOptions;
  authorities: Authorities;
  context: SecureContext;
  sockets: Map<TLSSocket, PresentedCertificate>;
  unauthenticated: UnauthenticatedConnections<TLSSocket>;
  /** Connections that carry another protocol after an upgrade. */
  upgraded: WeakSet<Socket>;
  /** Not of connections with a certificate: beside one no token counts. */
  people: People;
  /** Another server serves it now: each connection closes with its next response. */
  isLeft: boolean;
}

const contextOptions = ({ certificate, key, authority, innerAuthority }: ListenerKeys) => ({
  cert: certificate,
  key,
  ca: [authority, ...(innerAuthority === undefined ? [] : [innerAuthority])],
  minVersion: 'TLSv1.2' as const,
  secureOptions,
});

const makeContext = (keys: ListenerKeys) => createSecureContext(contextOptions(keys));

function makeServedCluster(served: ListenerOptions, addressOf: AddressOf): ServedCluster {
  const sockets: ServedCluster['sockets'] = new Map();
  const unauthenticated = makeUnauthenticatedConnections<TLSSocket>({
    connections: () => unauthenticatedLimits(served.maxConnections()),
    requests: () => unauthenticatedLimits(served.maxInflight()),
    addressOf,
    close: (socket) => {
      sockets.delete(socket);
      socket.destroy();
    },
  });
  return {
    options: served,
    authorities: readAuthorities(served.keys),
    context: makeContext(served.keys),
    sockets,
    unauthenticated,
    upgraded: new WeakSet(),
    people: makePeople(),
    isLeft: false,
  };
}

function renewKeys(cluster: ServedCluster, keys: ListenerKeys): void {
  cluster.options = { ...cluster.options, keys };
  cluster.authorities = readAuthorities(keys);
  cluster.context = makeContext(keys);
}

type FindCluster = (serverName: string) => ServedCluster | undefined;

const answerIn = (clusterOf: FindCluster) => (request: IncomingMessage, response: ServerResponse) => {
  const socket = request.socket as TLSSocket;
  const cluster = clusterOf(nameOf(socket));
  const presented = cluster?.sockets.get(socket);
  if (!cluster || !presented) return void response.writeHead(421, { connection: 'close' }).end();
  if (presented.state !== 'valid') cluster.people.note(request);
  answerRequest(cluster, presented, request, response);
};

const upgradeIn = (clusterOf: FindCluster) => (request: IncomingMessage, socket: Duplex, head: Buffer) => {
  const cluster = clusterOf(nameOf(request.socket as TLSSocket));
  const presented = cluster?.sockets.get(request.socket as TLSSocket);
  if (!cluster || !presented || !isUsable(presented)) return void socket.destroy();
  skipUnreadCheck({ req: request }); // a terminal may be idle without limit
  if (presented.state !== 'valid') cluster.people.note(request);
  answerUpgrade(cluster, presented, request, socket, head);
};

/** Without `keys` only connections with a known server name complete a handshake. */
const serverOptions = (keys: ListenerKeys | undefined, clusterOf: FindCluster): ServerOptions => ({
  ...(keys ? contextOptions(keys) : { minVersion: 'TLSv1.2', secureOptions }),
  requestCert: true,
  rejectUnauthorized: false,
  ALPNProtocols: ['http/1.1'],
  handshakeTimeout: limits.handshakeTimeoutMs,
  maxHeaderSize: limits.maxHeaderBytes,
  connectionsCheckingInterval: limits.lookEveryMs,
  shouldUpgradeCallback: guarded(
    'clusters.front.should-upgrade',
    ([{ socket }]) => socket,
    (request: IncomingMessage) =>
      isUpgrade(request.headers.upgrade) && clusterOf(nameOf(request.socket as TLSSocket))?.options.upgrade !== undefined,
    false,
  ),
  SNICallback: guarded(
    'clusters.front.server-name',
    ([, done]) => ({ destroy: () => done(new Error('the name could not be looked up')) }),
    (name: string, done: (error: Error | null, context?: SecureContext) => void) => {
      const cluster = clusterOf(name);
      return cluster ? done(null, cluster.context) : done(new Error('no cluster has this name'));
    },
  ),
});

/** Listens; `clusterOf` finds the cluster of a server name. */
async function listen(
  at: ListenerOptions['listen'],
  keys: ListenerKeys | undefined,
  clusterOf: FindCluster,
  { log, addressOf, open, connectionsOf, isBusy, sockets, name }: FrontParts & { name: string },
): Promise<Server> {
  const paced = onePerConnection(
    guarded('clusters.front.request', ([{ socket }]) => socket, answerIn(clusterOf)),
    isBusy,
  );
  const server = createServer(serverOptions(keys, clusterOf), paced.listener);
  server.on(
    'upgrade',
    guarded('clusters.front.upgrade', ([, socket]) => socket, upgradeIn(clusterOf)),
  );
  server.on(
    'checkExpectation',
    guarded('clusters.front.expectation', ([{ socket }]) => socket, refuseExpectation),
  );
  throttleHandshakes(server, addressOf, isBusy);
  paced.watch(server, 'secureConnection');
  server.on(
    'clientError',
    guarded('clusters.front.client-error', ([, socket]) => socket, refuseMalformed),
  );
  const connections = connectionsOf(server);
  connections.watch(server);
  server.headersTimeout = limits.headersTimeoutMs;
  server.requestTimeout = 0; // watches stay open; bodies have their own timeout
  server.keepAliveTimeout = limits.keepAliveMs;
  server.maxConnections = limits.maxConnections;
  const admit = (socket: TLSSocket) => admitConnection(clusterOf(nameOf(socket)), socket);
  server.on(
    'secureConnection',
    guarded('clusters.front.connection', ([socket]) => socket, admit),
  );
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  server.on(
    'error',
    guarded('clusters.front.error', undefined, (error) => log.warn({ err: error }, 'a listener of clusters failed')),
  );
  await sockets.listen(server, name, at).catch((error) => {
    open.delete(server);
    throw error;
  });
  return server;
}

const nameOf = (socket: TLSSocket): string => (typeof socket.servername === 'string' ? socket.servername : '');

/** Connections are counted before anything is read from them. A full cluster evicts an unauthenticated connection for a new one. */
function admitConnection(cluster: ServedCluster | undefined, socket: TLSSocket): void {
  if (!cluster || socket.destroyed) return void socket.destroy();
  const { sockets, unauthenticated, people, options } = cluster;
  const presented = readClientCertificate(socket, cluster.authorities);
  sockets.set(socket, presented);
  const leave = () => {
    unauthenticated.remove(socket);
    people.forget(socket);
    sockets.delete(socket);
  };
  socket.once('close', guarded('clusters.front.close', socket, leave));
  if (presented.state !== 'valid') unauthenticated.add(socket);
  if (sockets.size <= options.maxConnections() || unauthenticated.evict()) return;
  sockets.delete(socket);
  socket.destroy();
}

const identityOf = (presented: PresentedCertificate) => (presented.state === 'valid' ? presented.identity : undefined);

function answerRequest(cluster: ServedCluster, presented: PresentedCertificate, request: IncomingMessage, response: ServerResponse): void {
  // A connection may outlive its certificate.
  if (!isUsable(presented))
    return void refuse(response, 401, 'Unauthorized', 'the client certificate is not of this cluster, or has expired');
  const socket = request.socket as TLSSocket;
  if (cluster.isLeft) response.shouldKeepAlive = false;
  const isAuthenticated = !cluster.unauthenticated.has(socket);
  let endUnauthenticated: (() => void) | undefined;
  if (!isAuthenticated) {
    endUnauthenticated = cluster.unauthenticated.beginRequest(socket);
    if (!endUnauthenticated)
      return void refuse(response, 429, 'TooManyRequests', 'too many requests without a login are under way; try again in a moment');
    response.once('close', guarded('clusters.front.answered', socket, endUnauthenticated));
  }
  trackAuthentication(cluster, socket, presented, request, response, endUnauthenticated);
  cluster.options.serve(request, response, { identity: identityOf(presented), isAuthenticated });
}

/** A connection whose upgrade the cluster accepts (101) is authenticated from then on. */
function answerUpgrade(
  cluster: ServedCluster,
  presented: PresentedCertificate,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const own = request.socket as TLSSocket;
  cluster.upgraded.add(own);
  const isAuthenticated = !cluster.unauthenticated.has(own);
  if (!isAuthenticated) {
    const end = cluster.unauthenticated.beginRequest(own);
    if (!end) return void socket.destroy();
    socket.once('close', guarded('clusters.front.talked', socket, end));
    const { write } = socket;
    socket.write = ((first: Buffer | string, ...more: unknown[]) => {
      socket.write = write;
      if (String(first).startsWith('HTTP/1.1 101 ')) {
        cluster.unauthenticated.remove(own);
        end();
      }
      return Reflect.apply(write, socket, [first, ...more]);
    }) as typeof write;
  }
  cluster.options.upgrade?.(request, socket, head, { identity: identityOf(presented), isAuthenticated });
}

/** The response status shows whether the cluster accepted the token, whichever driver serves it. A refused token is 401; 403 and 429 may be sent
 *  before the token is checked. */
const provesToken = (status: number): boolean => status < 400 || status === 404 || status === 409;

/** Exactly one space: with two, Kubernetes reads an empty token and treats the caller as anonymous. */
const isBearer = /^Bearer \S+$/i;

/** An apiserver answers questions about options before it looks at a token, and at no token where the target is no path. */
const isTokenRead = ({ method, url, headers }: IncomingMessage): boolean =>
  method !== 'OPTIONS' && url!.startsWith('/') && isBearer.test(headers.authorization ?? '');

/**
 * A connection is authenticated once a response proves its token, and unauthenticated again after 401. `endRequest` ends the request's place
 * among the unauthenticated ones: a watch lasts for minutes after it was authenticated, and would keep new callers of its address out.
 */
function trackAuthentication(
  { unauthenticated, sockets }: ServedCluster,
  socket: TLSSocket,
  presented: PresentedCertificate,
  request: IncomingMessage,
  response: ServerResponse,
  endRequest: (() => void) | undefined,
) {
  const { writeHead } = response;
  response.writeHead = ((status: number, ...more: unknown[]) => {
    if (sockets.has(socket)) {
      if (status === 401 && !unauthenticated.has(socket)) unauthenticated.add(socket);
      else if (provesToken(status) && (presented.state === 'valid' || isTokenRead(request))) {
        unauthenticated.remove(socket);
        endRequest?.();
      }
    }
    return Reflect.apply(writeHead, response, [status, ...more]);
  }) as typeof writeHead;
}

const isUsable = (presented: PresentedCertificate): boolean =>
  presented.state === 'none' || (presented.state === 'valid' && presented.expiresAt >= wallClock());

const portOf = (server: Server) => (server.address() as AddressInfo).port;

/** Connection limits are enforced per cluster, not here. */
const unbounded = {
  anonymousPerAddress: Number.POSITIVE_INFINITY,
  anonymousInAll: Number.POSITIVE_INFINITY,
  inAll: Number.POSITIVE_INFINITY,
};

interface FrontOptions extends Partial<ConnectionLimits> {
  isBusy?: () => boolean;
  sockets?: ListeningSockets;
}

export function makeFront(
  log: Logger,
  peers: Peers,
  { unreadMs = connectionLimits.unreadMs, isBusy = () => false, sockets = ownSockets }: FrontOptions = {},
): HttpFront {
  const addressOf: AddressOf = (socket) => (peers.isProxied(asCaller(socket)) ? undefined : peers.of(asCaller(socket)));
  const open: FrontParts['open'] = new Map();
  const connectionsOf = (server: Server) => {
    const connections = new Connections(peers, { unreadMs, ...unbounded });
    open.set(server, connections);
    return connections;
  };
  const parts: FrontParts = { log, addressOf, open, connectionsOf, isBusy, sockets };
  const shared = makeSharedPort(parts);
  return {
    open: (served) => (served.serverName === undefined ? openOwnPort(served, parts) : shared.open(served, served.serverName)),
    drain: (limitMs) => drainServers(parts, limitMs),
    stop: shared.stop,
  };
}

async function openOwnPort(served: ListenerOptions, parts: FrontParts): Promise<ClusterListener> {
  const cluster = makeServedCluster(served, parts.addressOf);
  const server = await listen(served.listen, served.keys, () => cluster, { ...parts, name: `cluster ${served.id}` });
  return {
    port: portOf(server),
    renew(keys) {
      renewKeys(cluster, keys);
      server.setSecureContext(contextOptions(keys));
    },
    cut: (fingerprints) => cutSockets(cluster, fingerprints),
    people: cluster.people,
    acceptNoMore: () => acceptNoMore(server, parts),
    async leave(limits) {
      await leaveConnections(cluster, limits);
      await closeServer(server, parts);
    },
    async close() {
      closeSockets(cluster);
      await closeServer(server, parts);
    },
  };
}

/** Opened with the first cluster, closed with the process. */
function makeSharedPort(parts: FrontParts) {
  const clusters = new Map<string, ServedCluster>();
  let opening: Promise<Server> | undefined;
  return {
    async open(served: ListenerOptions, serverName: string): Promise<ClusterListener> {
      const cluster = makeServedCluster(served, parts.addressOf);
      clusters.set(serverName, cluster);
      opening ??= listen(served.listen, undefined, (name) => clusters.get(name.toLowerCase()), { ...parts, name: 'clusters' });
      const server = await opening.catch((error) => {
        opening = undefined;
        clusters.delete(serverName);
        throw error;
      });
      return {
        port: portOf(server),
        renew: (keys) => renewKeys(cluster, keys),
        cut: (fingerprints) => cutSockets(cluster, fingerprints),
        people: cluster.people,
        acceptNoMore: async () => {}, // other clusters are served here
        async leave(limits) {
          await leaveConnections(cluster, limits);
          if (clusters.get(serverName) === cluster) clusters.delete(serverName);
          closeSockets(cluster);
        },
        async close() {
          if (clusters.get(serverName) === cluster) clusters.delete(serverName);
          closeSockets(cluster);
        },
      };
    },
    async stop(): Promise<void> {
      const server = await opening?.catch(() => undefined);
      opening = undefined;
      if (server) await closeServer(server, parts);
    },
  };
}
