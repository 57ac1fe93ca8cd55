import { Socket } from 'node:net';

const ofDatabase = new WeakSet<object>();

/** Whether this socket connects to the database. */
export const isOfDatabase = (socket: object | undefined): boolean => socket !== undefined && ofDatabase.has(socket);

/** Writes of one event-loop turn leave together: statements that do not wait for each other take one round trip. */
export function coalescingSocket(): Socket {
  const socket = new Socket();
  ofDatabase.add(socket);
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let gathering = false;
  socket.write = (...args: unknown[]) => {
    if (!gathering) {
      gathering = true;
      socket.cork();
      process.nextTick(() => {
        gathering = false;
        socket.uncork();
      });
    }
    return write(...args);
  };
  return socket;
}
