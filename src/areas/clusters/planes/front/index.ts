import { constants } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { type ConnectionLimits, Connections, connectionLimits, watchesItself } from '../../../../kernel/http/connections.ts';
import { asCaller, type Peers } from '../../../../kernel/http/peer.ts';
import { paceRequests } from '../../../../kernel/http/pipelining.ts';
import { refuseMalformed } from '../../../../kernel/http/server.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { wallClock } from '../../../../kernel/wall-clock.ts';
import type { Door, DoorKeys, Front, Served } from '../../engine/shard/door.ts';
import { isTalk } from '../../rules/process/forwarding.ts';
import { paceHandshakes } from './handshakes.ts';
import { type Authorities, identifySocket, readAuthorities, type Shown } from './identify.ts';
import { makeStrangers, type Strangers } from './strangers.ts';

// Where clusters are reached. A port for each, since a kubelet keeps no server name in its configuration; or, with a domain, one port for
// all, told apart by the name that is asked for.

const limits = { handshakeMs: 10_000, headersMs: 10_000, keepAliveMs: 90_000, headerBytes: 65_536, connectionsInAll: 20_000 };
/** Of a tier's connections and requests, for callers that have proven nothing; the rest is for the known. */
const strangersPart = { inAll: 1 / 2, perAddress: 1 / 4 };
const partOf = (most: number) => ({ inAll: Math.ceil(most * strangersPart.inAll), perAddress: Math.ceil(most * strangersPart.perAddress) });

/** Sessions are not resumed: a certificate that is refused since must be shown, and judged, again. */
const secureOptions = constants.SSL_OP_NO_TICKET;

/** A cluster behind a listener. */
interface Room {
  served: Served;
  authorities: Authorities;
  context: SecureContext;
  sockets: Map<TLSSocket, Shown>;
  strangers: Strangers<TLSSocket>;
}

type AddressOf = (socket: Socket) => string | undefined;

const contextOptions = ({ certificate, key, authority, house }: DoorKeys) => ({
  ...{ cert: certificate, key, ca: [authority, ...(house === undefined ? [] : [house])] },
  ...{ minVersion: 'TLSv1.2' as const, secureOptions },
});

const makeContext = (keys: DoorKeys) => createSecureContext(contextOptions(keys));

function makeRoom(served: Served, addressOf: AddressOf): Room {
  const sockets: Room['sockets'] = new Map();
  const strangers = makeStrangers<TLSSocket>({
    connections: () => partOf(served.most()),
    requests: () => partOf(served.inflight()),
    addressOf,
    close: (socket) => {
      sockets.delete(socket);
      socket.destroy();
    },
  });
  return { served, authorities: readAuthorities(served.keys), context: makeContext(served.keys), sockets, strangers };
}

function renewRoom(room: Room, keys: DoorKeys): void {
  room.served = { ...room.served, keys };
  room.authorities = readAuthorities(keys);
  room.context = makeContext(keys);
}

type FindRoom = (serverName: string) => Room | undefined;

const answerIn = (roomOf: FindRoom) => (request: IncomingMessage, response: ServerResponse) => {
  const socket = request.socket as TLSSocket;
  const room = roomOf(nameOf(socket));
  const shown = room?.sockets.get(socket);
  if (!room || !shown) return void response.writeHead(421, { connection: 'close' }).end();
  answerRequest(room, shown, request, response);
};

/** Listens; `roomOf` finds the cluster that a connection is for. Without keys only those get an answer who ask by a name. */
async function listen(
  at: Served['listen'],
  keys: DoorKeys | undefined,
  roomOf: FindRoom,
  { log, addressOf, connections, isBusy }: FrontParts,
): Promise<Server> {
  const paced = paceRequests(
    guarded('clusters.front.request', ([{ socket }]) => socket, answerIn(roomOf)),
    isBusy,
  );
  const server = createServer(
    {
      ...(keys ? contextOptions(keys) : { minVersion: 'TLSv1.2', secureOptions }),
      ...{ requestCert: true, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] },
      ...{ handshakeTimeout: limits.handshakeMs, maxHeaderSize: limits.headerBytes },
      shouldUpgradeCallback: guarded(
        'clusters.front.should-upgrade',
        ([{ socket }]) => socket,
        (request: IncomingMessage) =>
          isTalk(request.headers.upgrade) && roomOf(nameOf(request.socket as TLSSocket))?.served.talk !== undefined,
        false,
      ),
      SNICallback: guarded(
        'clusters.front.server-name',
        ([, done]) => ({ destroy: () => done(new Error('the name could not be looked up')) }),
        (name: string, done: (error: Error | null, context?: SecureContext) => void) => {
          const room = roomOf(name);
          return room ? done(null, room.context) : done(new Error('no cluster has this name'));
        },
      ),
    },
    paced.listener,
  );
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const room = roomOf(nameOf(request.socket as TLSSocket));
    const shown = room?.sockets.get(request.socket as TLSSocket);
    if (!room || !shown || !isGood(shown)) return void socket.destroy();
    watchesItself({ req: request }); // a terminal may stand still for as long as its user likes
    talkWith(room, shown, request, socket, head);
  };
  server.on(
    'upgrade',
    guarded('clusters.front.upgrade', ([, socket]) => socket, upgrade),
  );
  paceHandshakes(server, addressOf, isBusy);
  paced.watch(server, 'secureConnection');
  server.on(
    'clientError',
    guarded('clusters.front.client-error', ([, socket]) => socket, refuseMalformed),
  );
  connections().watch(server);
  server.headersTimeout = limits.headersMs;
  server.requestTimeout = 0; // watches stay open; bodies have a time of their own
  server.keepAliveTimeout = limits.keepAliveMs;
  server.maxConnections = limits.connectionsInAll;
  server.on(
    'secureConnection',
    guarded(
      'clusters.front.connection',
      ([socket]) => socket,
      (socket: TLSSocket) => takeIn(roomOf(nameOf(socket)), socket),
    ),
  );
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  server.on(
    'error',
    guarded('clusters.front.error', undefined, (error) => log.warn({ err: error }, 'trouble with the listener of clusters')),
  );
  server.listen(at.port, at.host);
  await Promise.race([
    once(server, 'listening'),
    once(server, 'error').then(([error]) => {
      throw error;
    }),
  ]);
  return server;
}

const nameOf = (socket: TLSSocket): string => (typeof socket.servername === 'string' ? socket.servername : '');

/** A cluster's connections are counted before anything is read from them. A full cluster closes a stranger's for the next one. */
function takeIn(room: Room | undefined, socket: TLSSocket): void {
  if (!room || socket.destroyed) return void socket.destroy();
  const { sockets, strangers, served } = room;
  const shown = identifySocket(socket, room.authorities);
  sockets.set(socket, shown);
  const leave = () => {
    strangers.leave(socket);
    sockets.delete(socket);
  };
  socket.once('close', guarded('clusters.front.close', socket, leave));
  if (shown.is !== 'good') strangers.enter(socket);
  if (sockets.size <= served.most() || strangers.evict()) return;
  sockets.delete(socket);
  socket.destroy();
}

const identityOf = (shown: Shown) => (shown.is === 'good' ? shown.identity : undefined);

function answerRequest(room: Room, shown: Shown, request: IncomingMessage, response: ServerResponse): void {
  // A connection may outlive the certificate that it showed.
  if (!isGood(shown)) return void refuse(response, 401, 'Unauthorized', 'the client certificate is not of this cluster, or has expired');
  const socket = request.socket as TLSSocket;
  const isKnown = !room.strangers.has(socket);
  if (!isKnown) {
    const end = room.strangers.begin(socket);
    if (!end)
      return void refuse(response, 429, 'TooManyRequests', 'too many requests without a login are under way; try again in a moment');
    response.once('close', guarded('clusters.front.answered', socket, end));
  }
  noteProof(room, socket, shown, request, response);
  room.served.serve(request, response, { identity: identityOf(shown), isKnown });
}

/** A connection that the cluster agrees to talk on is known from then on. */
function talkWith(room: Room, shown: Shown, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const own = request.socket as TLSSocket;
  const isKnown = !room.strangers.has(own);
  if (!isKnown) {
    const end = room.strangers.begin(own);
    if (!end) return void socket.destroy();
    socket.once('close', guarded('clusters.front.talked', socket, end));
    const { write } = socket;
    socket.write = ((first: Buffer | string, ...more: unknown[]) => {
      socket.write = write;
      if (String(first).startsWith('HTTP/1.1 101 ')) {
        room.strangers.leave(own);
        end();
      }
      return Reflect.apply(write, socket, [first, ...more]);
    }) as typeof write;
  }
  room.served.talk?.(request, socket, head, { identity: identityOf(shown), isKnown });
}

/** Whether a cluster took a request's token shows in the status of its answer, whichever driver serves it. A token that it does not take is 401;
 *  403 and 429 may be said before it is looked at. */
const isProof = (status: number): boolean => status < 400 || status === 404 || status === 409;

/** With two spaces Kubernetes reads an empty token, and takes its bearer for anonymous. */
const isBearer = /^Bearer \S+$/i;

/** A connection is known once an answer proves it, and unknown again after 401. */
function noteProof({ strangers, sockets }: Room, socket: TLSSocket, shown: Shown, request: IncomingMessage, response: ServerResponse) {
  const { writeHead } = response;
  response.writeHead = ((status: number, ...more: unknown[]) => {
    if (sockets.has(socket)) {
      if (status === 401 && !strangers.has(socket)) strangers.enter(socket);
      else if (isProof(status) && (shown.is === 'good' || isBearer.test(request.headers.authorization ?? ''))) strangers.leave(socket);
    }
    return Reflect.apply(writeHead, response, [status, ...more]);
  }) as typeof writeHead;
}

const isGood = (shown: Shown): boolean => shown.is === 'nothing' || (shown.is === 'good' && shown.until >= wallClock());

/** In Kubernetes' words. */
function refuse(response: ServerResponse, code: number, reason: string, message: string): void {
  const body = JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code });
  const retry = code === 429 ? { 'retry-after': '1' } : {};
  response.writeHead(code, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...retry }).end(body);
}

function cutSockets({ sockets }: Room, fingerprints: ReadonlySet<string>): void {
  for (const [socket, shown] of sockets) if (shown.is === 'good' && fingerprints.has(shown.identity.fingerprint)) socket.destroy();
}

function closeSockets({ sockets }: Room): void {
  for (const socket of sockets.keys()) socket.destroy();
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

interface FrontParts {
  log: Logger;
  addressOf: AddressOf;
  /** Closes the connections of a listener whose callers do not read. */
  connections: () => Connections;
  /** Whether the event loop has much to do. */
  isBusy: () => boolean;
}

/** Who may have how many connections is for the rooms to say. */
const unbounded = {
  anonymousPerAddress: Number.POSITIVE_INFINITY,
  anonymousInAll: Number.POSITIVE_INFINITY,
  inAll: Number.POSITIVE_INFINITY,
};

interface FrontOptions extends Partial<ConnectionLimits> {
  isBusy?: () => boolean;
}

export function makeFront(
  log: Logger,
  peers: Peers,
  { unreadMs = connectionLimits.unreadMs, isBusy = () => false }: FrontOptions = {},
): Front {
  const addressOf: AddressOf = (socket) => (peers.isProxied(asCaller(socket)) ? undefined : peers.of(asCaller(socket)));
  const parts = { log, addressOf, connections: () => new Connections(peers, { unreadMs, ...unbounded }), isBusy };
  const shared = makeSharedPort(parts);
  return {
    open: (served) => (served.serverName === undefined ? openOwnPort(served, parts) : shared.open(served, served.serverName)),
    stop: shared.stop,
  };
}

async function openOwnPort(served: Served, parts: FrontParts): Promise<Door> {
  const room = makeRoom(served, parts.addressOf);
  const server = await listen(served.listen, served.keys, () => room, parts);
  return {
    port: portOf(server),
    renew(keys) {
      renewRoom(room, keys);
      server.setSecureContext(contextOptions(keys));
    },
    cut: (fingerprints) => cutSockets(room, fingerprints),
    async close() {
      closeSockets(room);
      await closeServer(server);
    },
  };
}

/** Opened with the first cluster, closed with the process. */
function makeSharedPort(parts: FrontParts) {
  const rooms = new Map<string, Room>();
  let opening: Promise<Server> | undefined;
  return {
    async open(served: Served, serverName: string): Promise<Door> {
      const room = makeRoom(served, parts.addressOf);
      rooms.set(serverName, room);
      opening ??= listen(served.listen, undefined, (name) => rooms.get(name.toLowerCase()), parts);
      const server = await opening.catch((error) => {
        opening = undefined;
        rooms.delete(serverName);
        throw error;
      });
      return {
        port: portOf(server),
        renew: (keys) => renewRoom(room, keys),
        cut: (fingerprints) => cutSockets(room, fingerprints),
        async close() {
          if (rooms.get(serverName) === room) rooms.delete(serverName);
          closeSockets(room);
        },
      };
    },
    async stop(): Promise<void> {
      const server = await opening?.catch(() => undefined);
      opening = undefined;
      if (server) await closeServer(server);
    },
  };
}
