import type { Server, Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { guarded } from '../faults/guarded.ts';
import { readClientHello } from './client-hello.ts';
import type { CertificateSource, Presented } from './presented.ts';

/** The protocol that only a certificate authority speaks: RFC 8737, 6.2. */
const proofProtocol = 'acme-tls/1';

const helloTimeoutMs = 10_000;
/** A client that sends its first message in more pieces is left to TLS. */
const maxPieces = 32;
const handshakeTimeoutMs = 10_000;

/**
 * Connections of an authority that checks TLS-ALPN-01 get the proof and end; all others go on to the server's own TLS. A connection that
 * offers the protocol for a name without an open proof is refused as any unknown protocol is.
 */
export function takeProofConnections(server: Server, presented: Presented): void {
  if (!presented.source) return;
  const { source } = presented;
  const accepting = server.listeners('connection') as ((socket: Socket) => void)[];
  const [accept] = accepting;
  if (!accept) return;
  server.removeListener('connection', accept);
  server.prependListener(
    'connection',
    guarded(
      'tls.proof-connection',
      ([socket]) => socket,
      (socket: Socket) => {
        readHello(socket, (serverName, protocols) => {
          if (protocols.length === 1 && protocols[0] === proofProtocol && serverName !== undefined)
            prove(source, socket, serverName).catch(() => socket.destroy());
          else accept.call(server, socket);
        });
      },
    ),
  );
}

/** Reads the first message, puts it back, and tells what it says. Bytes that are no ClientHello are TLS's to refuse. */
function readHello(socket: Socket, tell: (serverName: string | undefined, protocols: string[]) => void): void {
  let bytes: Buffer = Buffer.alloc(0);
  let pieces = 0;
  const late = setTimeout(() => socket.destroy(), helloTimeoutMs).unref();
  const stop = () => {
    clearTimeout(late);
    socket.off('readable', take).off('end', leave).off('close', leave).off('error', leave);
  };
  const leave = guarded('tls.hello.leave', socket, () => {
    stop();
    socket.destroy();
  });
  const take = guarded('tls.hello.read', socket, () => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    const found = readClientHello(bytes);
    if (found.is === 'more' && ++pieces < maxPieces) return;
    stop();
    socket.unshift(bytes);
    if (found.is === 'hello') tell(found.hello.serverName, found.hello.protocols);
    else tell(undefined, []);
  });
  socket.on('readable', take).on('end', leave).on('close', leave).on('error', leave);
}

/** RFC 8737, 3: the handshake is the proof; nothing is sent after it. */
async function prove(source: CertificateSource, socket: Socket, name: string): Promise<void> {
  socket.on('error', () => {});
  const certificate = await source.findTlsProof(name).catch(() => undefined);
  if (!certificate || socket.destroyed) return void socket.destroy();
  const secureContext = createSecureContext({ cert: certificate.cert, key: certificate.key, minVersion: 'TLSv1.2' });
  const secure = new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: [proofProtocol] });
  const late = setTimeout(() => secure.destroy(), handshakeTimeoutMs).unref();
  secure.on('error', () => secure.destroy());
  secure.once('close', () => clearTimeout(late));
  secure.once(
    'secure',
    guarded('tls.proof-connection.secure', secure, () => void secure.end()),
  );
}
