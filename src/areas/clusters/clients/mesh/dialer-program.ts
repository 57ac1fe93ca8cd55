import { once } from 'node:events';
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

async function dial({ id, address, port }: DialRequest): Promise<void> {
  const socket = connect({ host: address, port, noDelay: true, autoSelectFamily: false });
  // Not a byte is read here: what a server says first belongs to the socket's new owner.
  socket.pause();
  socket.on('error', () => {});
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) });
    process.send?.({ id } satisfies DialAnswer, socket, {}, () => socket.destroy());
  } catch (error) {
    socket.destroy();
    const { name, code = 'EIO' } = error as NodeJS.ErrnoException;
    process.send?.({ id, error: name === 'AbortError' ? 'ETIMEDOUT' : code } satisfies DialAnswer);
  }
}

process.on('message', (request: DialRequest) => void dial(request));
process.on('disconnect', () => process.exit());
