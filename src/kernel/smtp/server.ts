import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { exitCodes, Stop } from '../errors.ts';
import { guarded } from '../faults/guarded.ts';
import type { Certificate } from '../x509/certificate.ts';
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

export const makeSmtpServer = (options: ServerOptions): SmtpServer => new Endpoint(options);

class Endpoint implements SmtpServer {
  readonly #options: ServerOptions;
  readonly #listener: Server;
  readonly #sessions = new Set<Session>();
  /** Connections in their handshake. */
  readonly #pending = new Set<Socket>();
  #context: SecureContext;
  #isStopping = false;
  #onAllClosed = () => {};

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#context = contextOf(options.certificate);
    this.#listener = createServer(
      { allowHalfOpen: true, noDelay: true },
      guarded(
        'smtp.connection',
        ([socket]) => socket,
        (socket) => this.#accept(socket),
      ),
    );
  }

  async listen({ host, port }: { host: string; port: number }, settings: string): Promise<number> {
    this.#listener.listen(port, host);
    await once(this.#listener, 'listening').catch((error: NodeJS.ErrnoException) => {
      throw new Stop(exitCodes.portTaken, `cannot take mail in on ${host}:${port} (${error.code}); set ${settings} to another address`);
    });
    return (this.#listener.address() as AddressInfo).port;
  }

  renew(certificate: Certificate): void {
    this.#context = contextOf(certificate);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#listener.close();
    for (const socket of this.#pending) socket.destroy();
    for (const session of this.#sessions) if (!session.isAtWork) sayStopping(session);
    await this.#allClosedWithin(this.#options.stopMs);
    for (const session of this.#sessions) sayStopping(session);
  }

  async #allClosedWithin(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onAllClosed = resolve;
    if (this.#sessions.size === 0) resolve();
    const timer = setTimeout(resolve, ms).unref();
    await promise;
    clearTimeout(timer);
  }

  #accept(socket: Socket): void {
    const { room, isSecure } = this.#options;
    let session: Session | undefined;
    const slot = room.acquire(this.#options.placeOf(socket), {
      // Without a session, the connection is in its handshake.
      evict: () => (session ? session.evict() : socket.destroy()),
      isBusy: () => session?.isBusy ?? false,
      isAmidMessage: () => session?.isAmidMessage ?? false,
    });
    if (!slot) return void refuse(socket, isSecure);
    const begin = (readySocket: Socket) => {
      session = this.#startSession(readySocket, slot);
    };
    if (isSecure) startHandshake(wrapInTls(socket, this.#context), { raw: socket, pending: this.#pending, leave: slot.release, begin });
    else begin(socket);
  }

  #startSession(socket: Socket, slot: ConnectionSlot): Session {
    const session = new Session(socket, this.#options.isSecure, {
      ...this.#options,
      secureContext: () => this.#context,
      isStopping: () => this.#isStopping,
      onKnown: slot.markKnown,
      onClosed: (left) => {
        slot.release();
        this.#sessions.delete(left);
        if (this.#sessions.size === 0) this.#onAllClosed();
      },
    });
    this.#sessions.add(session);
    return session;
  }
}

const sayStopping = (session: Session) => session.send(421, '4.3.2 the server stops; come again in a moment');

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
