import { connect } from 'node:net';

// Runs inside the namespace of a mesh: connects, and hands each socket to the server, which cannot enter a namespace itself.

/** From the server. */
export interface DialRequest {
  id: number;
  address: string;
  port: number;
}

/** To the server; the socket comes with it. */
export interface DialAnswer {
  id: number;
  /** The system's code; absent: it is connected. */
  error?: string;
}

const timeoutMs = 10_000;

process.on('message', ({ id, address, port }: DialRequest) => {
  const socket = connect({ host: address, port, noDelay: true, autoSelectFamily: false });
  // Not a byte is read here: what a server says first belongs to the socket's new owner.
  socket.pause();
  socket.setTimeout(timeoutMs);
  const fail = (error: string) => {
    socket.destroy();
    process.send?.({ id, error } satisfies DialAnswer);
  };
  socket.once('timeout', () => fail('ETIMEDOUT'));
  socket.once('error', ({ code = 'EIO' }: NodeJS.ErrnoException) => fail(code));
  socket.once('connect', () => {
    socket
      .removeAllListeners('timeout')
      .removeAllListeners('error')
      .setTimeout(0)
      .on('error', () => {});
    process.send?.({ id } satisfies DialAnswer, socket, {}, () => socket.destroy());
  });
});
process.on('disconnect', () => process.exit());
