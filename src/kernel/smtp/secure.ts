import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { guarded } from '../faults/guarded.ts';
import type { TlsContexts } from '../tls/index.ts';

/** The server's side of TLS on an accepted connection; `secure` is emitted once the handshake is complete. */
export const wrapInTls = (socket: Socket, { context, chooseByName }: TlsContexts): TLSSocket =>
  new TLSSocket(socket, { isServer: true, secureContext: context(), SNICallback: guarded('smtp.choose-by-name', socket, chooseByName) });
