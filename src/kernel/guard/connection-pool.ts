import type { Socket } from 'node:net';
import { guarded } from '../faults/guarded.ts';
import type { Connection } from './types.ts';

/**
 * Idle connections, kept for the next request of the same caller: a connection stays at the address that was checked. An idle connection
 * must be silent. Data from its peer would be taken for the response to the next request, so it is closed instead.
 */
export interface ConnectionPool {
  take(key: string): Connection | undefined;
  keep(key: string, connection: Connection): void;
}

/** Most servers close idle connections after 5 s. If both sides closed at the same time, a request could be lost. */
const idleMs = 4_000;
/** The longest age of a connection, however busy: then the name is resolved again, since it may point elsewhere by now. */
const maxAgeMs = 60_000;
const limits = { perKey: 16, total: 256 };

/** Any event on an idle connection closes it. */
const endEvents = ['data', 'end', 'error', 'close'] as const;

interface IdleConnection {
  connection: Connection;
  /** Removes the pool's listeners. */
  removeListeners(): void;
}

export function makeConnectionPool(now = () => performance.now()): ConnectionPool {
  const idle = new Map<string, IdleConnection[]>();
  const dialedAt = new WeakMap<Socket, number>();
  let count = 0;

  const remove = (key: string, one: IdleConnection): void => {
    const of = idle.get(key)!;
    of.splice(of.indexOf(one), 1);
    if (of.length === 0) idle.delete(key);
    count--;
    one.removeListeners();
  };
  const drop = (key: string, one: IdleConnection): void => {
    remove(key, one);
    one.connection.socket.destroy();
  };

  return {
    take: (key) => {
      const one = idle.get(key)?.at(-1); // the most recently used
      if (!one) return undefined;
      remove(key, one);
      one.connection.socket.ref();
      return one.connection;
    },
    keep: (key, connection) => {
      const { socket } = connection;
      const since = dialedAt.get(socket) ?? now();
      dialedAt.set(socket, since);
      const of = idle.get(key) ?? [];
      if (socket.destroyed || !socket.writable || now() - since > maxAgeMs || of.length >= limits.perKey) return void socket.destroy();
      if (count >= limits.total) {
        const [oldest, [first]] = idle.entries().next().value!;
        drop(oldest, first!);
      }
      const end = guarded('guard.kept.end', socket, () => drop(key, one));
      // A TLS connection that receives garbage reports it by `error` alone.
      for (const event of endEvents) socket.on(event, end);
      socket.setTimeout(idleMs, end);
      const leave = () => {
        for (const event of endEvents) socket.off(event, end);
        socket.setTimeout(0, end);
      };
      const one: IdleConnection = { connection, removeListeners: leave };
      idle.delete(key); // moves the key to the end of the eviction order
      idle.set(key, [...of, one]);
      count++;
      socket.unref();
    },
  };
}
