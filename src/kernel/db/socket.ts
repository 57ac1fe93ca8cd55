import { Socket } from 'node:net';

const ofDatabase = new WeakSet<object>();

/** Whether this connection leads to the database. */
export const isOfDatabase = (socket: object | undefined): boolean => socket !== undefined && ofDatabase.has(socket);

/** What is written in one turn of the event loop leaves together: statements that do not wait for each other are one round trip. */
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
