import type { Server, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { RoundRobinQueue } from '../../../../kernel/fairness/index.ts';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { otherEnd } from '../../../../kernel/http/peer.ts';
import { makeUnauthenticatedConnections, type UnauthenticatedLimits } from './unauthenticated.ts';

// A handshake takes the event loop a third of a millisecond, and Node starts all pending ones in one turn of the loop: hundreds at once would
// delay every tenant. So connections are queued here, round-robin by address, and one handshake starts per turn. A request of another tenant
// takes about thirty turns: so while many handshakes are queued there is a pause between two, and a longer one while the loop is busy.

/** Pending handshakes of a listener, and the pauses between two starts. */
const limits = { pending: { total: 1_000, perAddress: 250 } satisfies UnauthenticatedLimits, unthrottled: 8, pauseMs: 4, busyPauseMs: 8 };

/** Replaces the TLS server's own listener for new connections. */
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
  const queue = new RoundRobinQueue<Socket>();
  let isScheduled = false;
  const startOne = () => {
    isScheduled = false;
    const next = queue.next();
    if (next) begin.call(server, next);
    scheduleNext();
  };
  const scheduleNext = () => {
    if (isScheduled || queue.size === 0) return;
    isScheduled = true;
    if (isBusy()) setTimeout(startOne, limits.busyPauseMs);
    else if (pending.size() > limits.unthrottled) setTimeout(startOne, limits.pauseMs);
    else setImmediate(startOne);
  };
  // TLS wraps the connection in another socket; both have the same peer address.
  const byPeer = new Map<string, Socket>();
  const enqueue = (socket: Socket) => {
    const peer = otherEnd(socket);
    const address = addressOf(socket) ?? '';
    byPeer.set(peer, socket);
    socket.on('error', () => {}); // the close event follows
    const leave = () => {
      queue.remove(address, socket);
      pending.remove(socket);
      if (byPeer.get(peer) === socket) byPeer.delete(peer);
    };
    socket.once('close', guarded('clusters.front.handshake.close', socket, leave));
    queue.push(address, socket);
    pending.add(socket);
    scheduleNext();
  };
  const finish = (socket: TLSSocket) => {
    const raw = byPeer.get(otherEnd(socket));
    if (raw) pending.remove(raw);
  };
  server.on(
    'connection',
    guarded('clusters.front.handshake', ([socket]) => socket, enqueue),
  );
  server.prependListener(
    'secureConnection',
    guarded('clusters.front.handshake.secure', ([socket]) => socket, finish),
  );
}
