import { connect, type Socket } from 'node:net';
import { guarded } from '../faults/guarded.ts';

export interface Endpoint {
  readonly address: string;
  readonly family: 4 | 6;
  readonly port: number;
}

/** Opens a TCP connection to exactly this address, or throws the system's error. On abort it throws and leaves nothing open. */
export type Connector = (endpoint: Endpoint, signal: AbortSignal) => Promise<Socket>;

export const tcpConnector: Connector = ({ address, family, port }, signal) =>
  new Promise((resolve, reject) => {
    const socket = connect({
      host: address,
      port,
      family,
      noDelay: true,
      autoSelectFamily: false,
      // Node does not resolve an address. Should that ever change, it must not use the system's resolver.
      lookup: (_name, _options, done) => done(new Error('the guard connects to addresses only'), ''),
    });
    const settle = () => {
      signal.removeEventListener('abort', abort);
      socket.off('connect', connected).off('error', failed);
    };
    const connected = guarded('guard.connector.connected', socket, () => {
      settle();
      resolve(socket);
    });
    const failed = guarded('guard.connector.failed', socket, (error: Error) => {
      settle();
      reject(error);
    });
    const abort = () => {
      settle();
      // Destroying a connecting socket may still emit an error, which has no listener any more.
      socket.on('error', () => {});
      socket.destroy();
      reject(signal.reason);
    };
    socket.on('connect', connected).on('error', failed);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
