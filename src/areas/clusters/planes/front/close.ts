import { once } from 'node:events';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import type { Connections } from '../../../../kernel/http/connections.ts';
import type { ListeningSockets } from '../../../../kernel/lifecycle/listening-sockets.ts';
import type { Logger } from '../../../../kernel/log.ts';
import type { PresentedCertificate } from './identify.ts';
import { refuseAtEnd } from './refuse.ts';

/** When a listening socket that another process shares is closed: after this time in any turn of the event loop. */
const quietTurn = { maxMs: 0.2, withinMs: 500 };

export type AddressOf = (socket: Socket) => string | undefined;

export interface FrontParts {
  log: Logger;
  addressOf: AddressOf;
  /** Open servers, and their connections; those whose callers do not read are closed. */
  open: Map<Server, Connections>;
  connectionsOf: (server: Server) => Connections;
  sockets: ListeningSockets;
  /** Whether the event loop is overloaded. */
  isBusy: () => boolean;
}

type Sockets = ReadonlyMap<Socket, PresentedCertificate>;

export function cutSockets({ sockets }: { sockets: Sockets }, fingerprints: ReadonlySet<string>): void {
  for (const [socket, presented] of sockets)
    if (presented.state === 'valid' && fingerprints.has(presented.identity.fingerprint)) socket.destroy();
}

export function closeSockets({ sockets }: { sockets: Sockets }): void {
  for (const socket of sockets.keys()) socket.destroy();
}

export async function closeServer(server: Server, { open, sockets }: FrontParts): Promise<void> {
  open.delete(server);
  if (!server.listening) return void server.closeAllConnections();
  const closed = once(server, 'close');
  sockets.close(server);
  server.closeAllConnections();
  await closed;
}

/**
 * The kernel resets connections that wait on a listening socket that closes, even if another process listens beside it, unless Linux is told to pass
 * them on (net.ipv4.tcp_migrate_req). So the socket is closed right after a short turn of the event loop in which none came.
 */
export async function acceptNoMore(server: Server, { sockets }: FrontParts): Promise<void> {
  let accepted = 0;
  const count = guarded(
    'clusters.front.accepted',
    ([socket]) => socket,
    (_socket: Socket) => {
      accepted++;
    },
  );
  server.on('connection', count);
  const until = performance.now() + quietTurn.withinMs;
  for (let isQuiet = false; !isQuiet; ) {
    const [before, began] = [accepted, performance.now()];
    await new Promise(setImmediate);
    const now = performance.now();
    isQuiet = now > until || (accepted === before && now - began < quietTurn.maxMs);
  }
  server.off('connection', count);
  sockets.close(server);
}

/** Accepts no more; requests in flight have this long to finish. */
export async function drainServers({ open, sockets }: FrontParts, limitMs: number): Promise<void> {
  for (const server of open.keys()) sockets.close(server);
  await Promise.all([...open.values()].map((connections) => connections.end(limitMs, refuseAtEnd)));
}
