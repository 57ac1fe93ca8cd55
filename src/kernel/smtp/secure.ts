import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';

/** The server's side of TLS on an accepted connection; `secure` is emitted once the handshake is complete. */
export const wrapInTls = (socket: Socket, secureContext: SecureContext): TLSSocket =>
  new TLSSocket(socket, { isServer: true, secureContext });
