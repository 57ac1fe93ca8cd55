import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { closeAfterResponse, responseOn } from '../../../../kernel/http/connections.ts';
import type { LeaveLimits } from '../../engine/shard/listener.ts';
import { refuseAtEnd } from './refuse.ts';

const checkMs = 20;
/** A connection is idle once it had no request for this long: its first one may be on its way. */
const firstRequestMs = 500;
/** A refusal is read within this time. */
const lastReadMs = 500;

export interface LeftCluster {
  sockets: ReadonlyMap<TLSSocket, unknown>;
  upgraded: WeakSet<Socket>;
  isLeft: boolean;
}

/**
 * Ends the connections of a cluster that another server serves now. Requests are served as before, and each response closes its connection. A
 * connection without a request is kept for a while: a client that sends one at the moment of a close cannot know whether it was done.
 */
export async function leaveConnections(cluster: LeftCluster, { idleMs, requestMs }: LeaveLimits): Promise<void> {
  const { sockets, upgraded } = cluster;
  cluster.isLeft = true;
  for (const socket of sockets.keys()) closeAfterResponse(socket);
  const began = performance.now();
  const idleSince = new Map<TLSSocket, number>();
  for (;;) {
    await sleep(checkMs);
    const now = performance.now();
    const mayClose = now - began >= idleMs;
    for (const socket of sockets.keys()) {
      if (responseOn(socket) || upgraded.has(socket)) {
        idleSince.delete(socket);
        continue;
      }
      const since = idleSince.get(socket) ?? now;
      idleSince.set(socket, since);
      if (mayClose && now - since >= firstRequestMs) socket.destroy();
    }
    for (const socket of idleSince.keys()) if (!sockets.has(socket)) idleSince.delete(socket);
    // Handshakes that are under way are among `sockets` once they are done.
    if (now - began >= requestMs || (mayClose && sockets.size === 0)) break;
  }
  await refuseRest(cluster);
  for (const socket of sockets.keys()) socket.destroy();
}

async function refuseRest({ sockets }: LeftCluster): Promise<void> {
  let isAnyRefused = false;
  for (const socket of sockets.keys()) {
    const response = responseOn(socket);
    if (!response || response.headersSent) continue;
    isAnyRefused = true;
    refuseAtEnd(response.req, response);
  }
  if (isAnyRefused) await sleep(lastReadMs);
}
