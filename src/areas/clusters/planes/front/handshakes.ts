import type { Server, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { otherEnd } from '../../../../kernel/http/peer.ts';
import { makeUnauthenticatedConnections, type UnauthenticatedLimits } from './unauthenticated.ts';

// A handshake costs the event loop a third of a millisecond, and Node begins all that have come in one turn of the loop: hundreds at once would
// hold up everybody. So connections wait here, and addresses take turns. One handshake begins in a turn of the loop. A request of a neighbour
// takes thirty turns: so while many handshakes wait there is a pause between two, and a longer one while the loop is busy.

/** Handshakes that wait or are under way at a listener, and the pauses between two that begin. */
const limits = { pending: { total: 1_000, perAddress: 250 } satisfies UnauthenticatedLimits, unthrottled: 8, pauseMs: 4, busyPauseMs: 8 };

/** Takes the place of what a TLS server does with each new connection. */
export function throttleHandshakes(
  server: Server,
  addressOf: (socket: Socket) => string | undefined,
  isBusy: () => boolean = () => false,
): void {
  const [begin, ...others] = server.listeners('connection') as ((socket: Socket) => void)[];
  if (!begin || others.length > 0) throw new Error('the server is no TLS server, or listens to its connections already');
  server.removeListener('connection', begin);
  const pending = makeUnauthenticatedConnections<Socket>({
    connections: () => limits.pending,
    requests: () => limits.pending,
    addressOf,
    close: (socket) => socket.destroy(),
  });
  const line = makeRoundRobinQueue();
  let isDue = false;
  const beginOne = () => {
    isDue = false;
    const next = line.take();
    if (next) begin.call(server, next);
    beginSoon();
  };
  const beginSoon = () => {
    if (isDue || line.isEmpty()) return;
    isDue = true;
    if (isBusy()) setTimeout(beginOne, limits.busyPauseMs);
    else if (pending.size() > limits.unthrottled) setTimeout(beginOne, limits.pauseMs);
    else setImmediate(beginOne);
  };
  // TLS wraps a connection in a socket of its own; both name the same peer.
  const byPeer = new Map<string, Socket>();
  const takeIn = (socket: Socket) => {
    const peer = otherEnd(socket);
    const address = addressOf(socket) ?? '';
    byPeer.set(peer, socket);
    socket.on('error', () => {}); // it is closed, which is all that matters
    const leave = () => {
      line.drop(address, socket);
      pending.remove(socket);
      if (byPeer.get(peer) === socket) byPeer.delete(peer);
    };
    socket.once('close', guarded('clusters.front.handshake.close', socket, leave));
    line.add(address, socket);
    pending.add(socket);
    beginSoon();
  };
  const finish = (socket: TLSSocket) => {
    const raw = byPeer.get(otherEnd(socket));
    if (raw) pending.remove(raw);
  };
  server.on(
    'connection',
    guarded('clusters.front.handshake', ([socket]) => socket, takeIn),
  );
  server.prependListener(
    'secureConnection',
    guarded('clusters.front.handshake.secure', ([socket]) => socket, finish),
  );
}

/** Connections by address: each address in turn, its oldest first. */
function makeRoundRobinQueue() {
  const waiting = new Map<string, Set<Socket>>();
  const drop = (address: string, socket: Socket) => {
    const sockets = waiting.get(address);
    sockets?.delete(socket);
    if (sockets?.size === 0) waiting.delete(address);
  };
  return {
    add: (address: string, socket: Socket) => {
      const sockets = waiting.get(address) ?? new Set();
      waiting.set(address, sockets.add(socket));
    },
    drop,
    isEmpty: () => waiting.size === 0,
    take(): Socket | undefined {
      for (const [address, sockets] of waiting) {
        waiting.delete(address);
        for (const socket of sockets) {
          sockets.delete(socket);
          if (sockets.size > 0) waiting.set(address, sockets); // behind the others
          return socket;
        }
      }
      return undefined;
    },
  };
}
