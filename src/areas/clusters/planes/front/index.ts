import { constants } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { wallClock } from '../../../../kernel/wall-clock.ts';
import type { Door, DoorKeys, Front, Served } from '../../engine/shard/door.ts';
import { isTalk } from '../../rules/process/forwarding.ts';
import { type Authorities, identifySocket, readAuthorities, type Shown } from './identify.ts';

// Where clusters are reached. A port for each, since a kubelet keeps no server name in its configuration; or, with a domain, one port for
// all, told apart by the name that is asked for.

const limits = { handshakeMs: 10_000, headersMs: 10_000, keepAliveMs: 90_000, headerBytes: 65_536, connectionsInAll: 20_000 };

/** Sessions are not resumed: a certificate that is refused since must be shown, and judged, again. */
const secureOptions = constants.SSL_OP_NO_TICKET;

/** A cluster behind a listener. */
interface Room {
  served: Served;
  authorities: Authorities;
  context: SecureContext;
  sockets: Map<TLSSocket, Shown>;
}

const contextOptions = ({ certificate, key, authority, house }: DoorKeys) => ({
  ...{ cert: certificate, key, ca: [authority, ...(house === undefined ? [] : [house])] },
  ...{ minVersion: 'TLSv1.2' as const, secureOptions },
});

const makeContext = (keys: DoorKeys) => createSecureContext(contextOptions(keys));

function makeRoom(served: Served): Room {
  return { served, authorities: readAuthorities(served.keys), context: makeContext(served.keys), sockets: new Map() };
}

function renewRoom(room: Room, keys: DoorKeys): void {
  room.served = { ...room.served, keys };
  room.authorities = readAuthorities(keys);
  room.context = makeContext(keys);
}

/** Listens; `roomOf` finds the cluster that a connection is for. Without keys only those get an answer who ask by a name. */
async function listen(
  at: Served['listen'],
  keys: DoorKeys | undefined,
  roomOf: (serverName: string) => Room | undefined,
  log: Logger,
): Promise<Server> {
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
    guarded(
      'clusters.front.request',
      ([{ socket }]) => socket,
      (request: IncomingMessage, response: ServerResponse) => {
        const socket = request.socket as TLSSocket;
        const room = roomOf(nameOf(socket));
        const shown = room?.sockets.get(socket);
        if (!room || !shown) return void response.writeHead(421, { connection: 'close' }).end();
        answerRequest(room, shown, request, response);
      },
    ),
  );
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const room = roomOf(nameOf(request.socket as TLSSocket));
    const shown = room?.sockets.get(request.socket as TLSSocket);
    if (!room || !shown || !isGood(shown)) return void socket.destroy();
    room.served.talk?.(request, socket, head, shown.is === 'good' ? shown.identity : undefined);
  };
  server.on(
    'upgrade',
    guarded('clusters.front.upgrade', ([, socket]) => socket, upgrade),
  );
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

/** A cluster's connections are counted before anything is read from them. */
function takeIn(room: Room | undefined, socket: TLSSocket): void {
  if (!room || room.sockets.size >= room.served.most()) return void socket.destroy();
  room.sockets.set(socket, identifySocket(socket, room.authorities));
  socket.once('close', () => room.sockets.delete(socket));
}

function answerRequest(room: Room, shown: Shown, request: IncomingMessage, response: ServerResponse): void {
  // A connection may outlive the certificate that it showed.
  if (!isGood(shown)) refuseCertificate(response);
  else room.served.serve(request, response, shown.is === 'good' ? shown.identity : undefined);
}

const isGood = (shown: Shown): boolean => shown.is === 'nothing' || (shown.is === 'good' && shown.until >= wallClock());

/** In Kubernetes' words. */
function refuseCertificate(response: ServerResponse): void {
  const message = 'the client certificate is not of this cluster, or has expired';
  const body = JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: 'Unauthorized',
    code: 401,
  });
  response.writeHead(401, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body);
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

export function makeFront(log: Logger): Front {
  const shared = makeSharedPort(log);
  return {
    open: (served) => (served.serverName === undefined ? openOwnPort(served, log) : shared.open(served, served.serverName)),
    stop: shared.stop,
  };
}

async function openOwnPort(served: Served, log: Logger): Promise<Door> {
  const room = makeRoom(served);
  const server = await listen(served.listen, served.keys, () => room, log);
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
function makeSharedPort(log: Logger) {
  const rooms = new Map<string, Room>();
  let opening: Promise<Server> | undefined;
  return {
    async open(served: Served, serverName: string): Promise<Door> {
      const room = makeRoom(served);
      rooms.set(serverName, room);
      opening ??= listen(served.listen, undefined, (name) => rooms.get(name.toLowerCase()), log);
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
