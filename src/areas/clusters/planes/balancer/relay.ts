import type { Socket } from 'node:net';
import { guarded } from '../../../../kernel/faults/guarded.ts';

// One connection of a client, joined with one to a node. Each direction has backpressure, and ends by itself: a client that has sent everything
// may still read. `pipe` does the same with twice the listeners, which a short connection would pay for.

/**
 * Nothing moved for this long: the connection is closed. The second: after one side has ended. The system looks whether a silent side is still
 * there from the third on: a short connection does without.
 */
const limits = { openMs: 600_000, halfOpenMs: 60_000, keepAliveMs: 30_000 };

export interface Relay {
  bytesIn(): number;
  bytesOut(): number;
  destroy(): void;
}

/** `onClose` is called once, after both connections are closed. */
export function startRelay(client: Socket, node: Socket, header: Buffer | undefined, onClose: () => void, idle = limits): Relay {
  let open = 2;
  let isHalfOpen = false;
  const join = (from: Socket, to: Socket) => {
    // Both sides may end one after the other; without this node ends the second with the first.
    from.allowHalfOpen = true;
    from.setNoDelay(true);
    let isSilent = false;
    const rest = () => {
      if (isSilent || isHalfOpen) return void from.destroy();
      isSilent = true;
      from.setKeepAlive(true, idle.keepAliveMs);
      from.setTimeout(idle.openMs - idle.keepAliveMs);
    };
    // Every time: what is given to `setTimeout` itself is called once.
    from.on('timeout', guarded('clusters.balancer.idle', from, rest));
    from.setTimeout(idle.keepAliveMs);
    const pass = (data: Buffer) => void (to.write(data) || from.pause());
    const end = () => {
      isHalfOpen = true;
      to.end();
      from.setTimeout(idle.halfOpenMs);
      to.setTimeout(idle.halfOpenMs);
    };
    const leave = (hadError: boolean) => {
      // Bytes that are on their way to a side that reads on are delivered; a reset is passed on as a reset.
      if (hadError) reset(to);
      else to.destroySoon();
      if (--open === 0) onClose();
    };
    from.on('data', guarded('clusters.balancer.data', from, pass));
    to.on(
      'drain',
      guarded('clusters.balancer.drain', from, () => void from.resume()),
    );
    from.once('end', guarded('clusters.balancer.end', from, end));
    from.on('error', () => {}); // close follows
    from.once('close', guarded('clusters.balancer.close', to, leave));
  };
  join(client, node);
  join(node, client);
  if (header) node.write(header);
  client.resume();
  node.resume();
  return {
    bytesIn: () => client.bytesRead,
    bytesOut: () => node.bytesRead,
    destroy: () => {
      reset(client);
      reset(node);
    },
  };
}

/** While the end of a socket is on its way, libuv refuses to reset it, and Node would never close it. */
function reset(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}
