import type { Socket } from 'node:net';
import { guarded } from '../faults/guarded.ts';
import type { Connection } from './dial.ts';

/**
 * Connections that a request has left open for the next one of the same caller: a judged connection stays where it was judged. Nobody speaks
 * on one that waits here: what its peer says unasked would be taken for the answer to the next request, so it is closed instead.
 */
export interface ConnectionPool {
  take(key: string): Connection | undefined;
  keep(key: string, connection: Connection): void;
}

/** A peer that closes idle connections mostly does so after 5 s; who was first is not known while both do. */
const idleMs = 4_000;
/** After this long a name is looked up anew, however busy the connection is: it may lead elsewhere by now. */
const oldestMs = 60_000;
const most = { ofOne: 16, inAll: 256 };

/** Whatever happens on a connection that waits is its end. */
const ended = ['data', 'end', 'error', 'close'] as const;

interface Waiting {
  connection: Connection;
  /** Takes off again what listens to it here. */
  leave(): void;
}

export function makeConnectionPool(now = () => performance.now()): ConnectionPool {
  const waiting = new Map<string, Waiting[]>();
  const dialedAt = new WeakMap<Socket, number>();
  let count = 0;

  const remove = (key: string, one: Waiting): void => {
    const of = waiting.get(key)!;
    of.splice(of.indexOf(one), 1);
    if (of.length === 0) waiting.delete(key);
    count--;
    one.leave();
  };
  const drop = (key: string, one: Waiting): void => {
    remove(key, one);
    one.connection.socket.destroy();
  };

  return {
    take: (key) => {
      const one = waiting.get(key)?.at(-1); // the one that rested least
      if (!one) return undefined;
      remove(key, one);
      one.connection.socket.ref();
      return one.connection;
    },
    keep: (key, connection) => {
      const { socket } = connection;
      const since = dialedAt.get(socket) ?? now();
      dialedAt.set(socket, since);
      const of = waiting.get(key) ?? [];
      if (socket.destroyed || !socket.writable || now() - since > oldestMs || of.length >= most.ofOne) return void socket.destroy();
      if (count >= most.inAll) {
        const [oldest, [first]] = waiting.entries().next().value!;
        drop(oldest, first!);
      }
      const end = guarded('guard.kept.end', socket, () => drop(key, one));
      // A TLS connection that hears nonsense tells of it by `error` alone.
      for (const event of ended) socket.on(event, end);
      socket.setTimeout(idleMs, end);
      const leave = () => {
        for (const event of ended) socket.off(event, end);
        socket.setTimeout(0, end);
      };
      const one: Waiting = { connection, leave };
      waiting.delete(key); // the last in line for whoever has to go
      waiting.set(key, [...of, one]);
      count++;
      socket.unref();
    },
  };
}
