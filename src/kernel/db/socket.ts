import { Socket } from 'node:net';

const databaseSockets = new WeakSet<object>();

/** Whether this socket connects to the database. */
export const isDatabaseSocket = (socket: object | undefined): boolean => socket !== undefined && databaseSockets.has(socket);

/** Writes of one event-loop turn leave together: statements that do not wait for each other take one round trip. */
export function coalescingSocket(): Socket {
  const socket = new Socket();
  databaseSockets.add(socket);
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let isCorked = false;
  socket.write = (...args: unknown[]) => {
    if (!isCorked) {
      isCorked = true;
      socket.cork();
      process.nextTick(() => {
        isCorked = false;
        socket.uncork();
      });
    }
    return write(...args);
  };
  return socket;
}
