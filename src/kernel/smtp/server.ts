import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { Certificate } from '../certificate.ts';
import { exitCodes, Stop } from '../errors.ts';
import { guarded } from '../faults/guarded.ts';
import type { ConnectionSlot, ConnectionSlots } from './connection-slots.ts';
import { wrapInTls } from './secure.ts';
import { Session, type SessionOptions } from './session.ts';

export interface ServerOptions extends Omit<SessionOptions, 'secureContext' | 'isStopping' | 'onClosed' | 'onKnown'> {
  certificate: Certificate;
  /** TLS from the first byte. */
  isSecure: boolean;
  /** Connections are counted before any work is done for them. Servers may share the slots. */
  room: ConnectionSlots;
  placeOf(socket: Socket): string;
  /** How long work in progress may take when the server stops. */
  stopMs: number;
}

/** A running SMTP server. */
export interface SmtpServer {
  /** Returns the port. `settings` is named in the error, for an operator who must choose another address. */
  listen(place: { host: string; port: number }, settings: string): Promise<number>;
  /** New connections get this certificate. */
  renew(certificate: Certificate): void;
  /** Idle clients are disconnected at once; work in progress may finish. */
  stop(): Promise<void>;
}

/** The limit of a handshake, however many bytes of it come: a client silent in TLS must not stay longer than one that does not log in. */
const handshakeTimeoutMs = 30_000;

const contextOf = ({ cert, key }: Certificate): SecureContext =>
  createSecureContext({ cert, key, minVersion: 'TLSv1.2', honorCipherOrder: true });

export function makeSmtpServer(options: ServerOptions): SmtpServer {
  const sessions = new Set<Session>();
  /** Connections in their handshake. */
  const pending = new Set<Socket>();
  let context = contextOf(options.certificate);
  let isStopping = false;
  let onAllClosed = () => {};

  const startSession = (socket: Socket, slot: ConnectionSlot): Session => {
    const session = new Session(socket, options.isSecure, {
      ...options,
      secureContext: () => context,
      isStopping: () => isStopping,
      onKnown: slot.markKnown,
      onClosed: (left) => {
        slot.release();
        sessions.delete(left);
        if (sessions.size === 0) onAllClosed();
      },
    });
    sessions.add(session);
    return session;
  };
  const accept = (socket: Socket) => {
    let session: Session | undefined;
    const seat = options.room.acquire(options.placeOf(socket), {
      // Without a session, the connection is in its handshake.
      evict: () => (session ? session.evict() : socket.destroy()),
      isBusy: () => session?.isBusy ?? false,
      isAmidMessage: () => session?.isAmidMessage ?? false,
    });
    if (!seat) return refuse(socket, options.isSecure);
    const beginSession = (readySocket: Socket) => {
      session = startSession(readySocket, seat);
    };
    if (options.isSecure) startHandshake(wrapInTls(socket, context), { raw: socket, pending, leave: seat.release, begin: beginSession });
    else beginSession(socket);
  };
  const listener: Server = createServer(
    { allowHalfOpen: true, noDelay: true },
    guarded('smtp.connection', ([socket]) => socket, accept),
  );

  return {
    async listen({ host, port }, settings) {
      listener.listen(port, host);
      await once(listener, 'listening').catch((error: NodeJS.ErrnoException) => {
        throw new Stop(exitCodes.portTaken, `cannot take mail in on ${host}:${port} (${error.code}); set ${settings} to another address`);
      });
      return (listener.address() as AddressInfo).port;
    },
    renew: (certificate) => {
      context = contextOf(certificate);
    },
    async stop() {
      isStopping = true;
      listener.close();
      for (const socket of pending) socket.destroy();
      for (const session of sessions) if (!session.isAtWork) session.send(421, '4.3.2 the server stops; come again in a moment');
      const gone = new Promise<void>((resolve) => {
        onAllClosed = resolve;
        if (sessions.size === 0) resolve();
      });
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, options.stopMs).unref();
      });
      await Promise.race([gone, late]);
      clearTimeout(timer);
      for (const session of sessions) session.send(421, '4.3.2 the server stops; come again in a moment');
    },
  };
}

interface Handshake {
  raw: Socket;
  /** Contains the socket until the handshake is complete. */
  pending: Set<Socket>;
  begin(socket: Socket): void;
  leave(): void;
}

function startHandshake(socket: TLSSocket, { raw, pending, begin, leave }: Handshake): void {
  const fail = guarded('smtp.handshake.fail', socket, () => {
    clearTimeout(late);
    pending.delete(socket);
    socket.destroy();
    leave();
  });
  const late = setTimeout(fail, handshakeTimeoutMs).unref();
  raw.on('error', fail);
  pending.add(socket);
  socket.once('error', fail).once('close', fail);
  socket.once(
    'secure',
    guarded('smtp.handshake.secure', socket, () => {
      clearTimeout(late);
      pending.delete(socket);
      socket.removeListener('error', fail).removeListener('close', fail);
      begin(socket);
    }),
  );
}

/** Before the TLS handshake, which costs a millisecond. */
function refuse(socket: Socket, isSecure: boolean): void {
  socket.on('error', () => {});
  if (isSecure) socket.destroy();
  else socket.end('421 4.7.0 too many connections; close some, or try again in a while\r\n', () => socket.destroy());
}
