import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';

/** The server's side of TLS on a connection that came to us; `secure` is told once the handshake is through. */
export const wrapInTls = (socket: Socket, secureContext: SecureContext): TLSSocket =>
  new TLSSocket(socket, { isServer: true, secureContext });
