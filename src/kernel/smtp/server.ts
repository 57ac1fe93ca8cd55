import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { exitCodes, Stop } from '../errors.ts';
import { guarded } from '../faults/guarded.ts';
import { type ListeningSockets, ownSockets } from '../lifecycle/listening-sockets.ts';
import type { ConnectionSlot, ConnectionSlots } from './connection-slots.ts';
import { wrapInTls } from './secure.ts';
import { Session, type SessionOptions } from './session.ts';

export interface ServerOptions extends Omit<SessionOptions, 'isStopping' | 'onClosed' | 'onKnown'> {
  /** TLS from the first byte. */
  isSecure: boolean;
  /** Connections are counted before any work is done for them. Servers may share the slots. */
  room: ConnectionSlots;
  placeOf(socket: Socket): string;
  /** Opens its socket. */
  sockets?: ListeningSockets;
}

/** A running SMTP server. */
export interface SmtpServer {
  /** Returns the port. `settings` is named in the error, for an operator who must choose another address. */
  listen(place: { host: string; port: number }, settings: string): Promise<number>;
  /** Idle clients are told to come again at once, the others after their message, or when the time is over. */
  stop(limitMs: number): Promise<void>;
}

/** The limit of a handshake, however many bytes of it come: a client silent in TLS must not stay longer than one that does not log in. */
const handshakeTimeoutMs = 30_000;
/** A handshake under way has this long when the server stops. */
const lastHandshakeMs = 1_000;

export const makeSmtpServer = (options: ServerOptions): SmtpServer => new Endpoint(options);

class Endpoint implements SmtpServer {
  readonly #options: ServerOptions;
  readonly #listener: Server;
  readonly #sockets: ListeningSockets;
  readonly #sessions = new Set<Session>();
  /** Connections in their handshake. */
  readonly #pending = new Set<Socket>();
  #isStopping = false;
  #onAllClosed = () => {};

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#sockets = options.sockets ?? ownSockets;
    this.#listener = createServer(
      { allowHalfOpen: true, noDelay: true },
      guarded(
        'smtp.connection',
        ([socket]) => socket,
        (socket) => this.#accept(socket),
      ),
    );
  }

  async listen(at: { host: string; port: number }, settings: string): Promise<number> {
    const { door, isSecure } = this.#options;
    await this.#sockets.listen(this.#listener, isSecure ? `${door} with TLS` : door, at).catch((error: NodeJS.ErrnoException) => {
      throw new Stop(
        exitCodes.portTaken,
        `cannot take mail in on ${at.host}:${at.port} (${error.code}); set ${settings} to another address`,
      );
    });
    return (this.#listener.address() as AddressInfo).port;
  }

  async stop(limitMs: number): Promise<void> {
    this.#isStopping = true;
    this.#sockets.close(this.#listener);
    for (const session of this.#sessions) if (!session.isAtWork) session.sayStopping();
    // Before its handshake is complete a client cannot be told anything.
    const cutPending = () => {
      for (const socket of this.#pending) socket.destroy();
    };
    const late = setTimeout(cutPending, Math.min(limitMs, lastHandshakeMs)).unref();
    await this.#allClosedWithin(limitMs);
    clearTimeout(late);
    cutPending();
    for (const session of this.#sessions) session.sayStopping();
  }

  async #allClosedWithin(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onAllClosed = resolve;
    this.#checkAllClosed();
    const timer = setTimeout(resolve, ms).unref();
    await promise;
    clearTimeout(timer);
  }

  #checkAllClosed(): void {
    if (this.#sessions.size === 0 && this.#pending.size === 0) this.#onAllClosed();
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
    const leave = () => {
      slot.release();
      this.#checkAllClosed();
    };
    if (isSecure) startHandshake(wrapInTls(socket, this.#options.tls), { raw: socket, pending: this.#pending, leave, begin });
    else begin(socket);
  }

  #startSession(socket: Socket, slot: ConnectionSlot): Session {
    const session = new Session(socket, this.#options.isSecure, {
      ...this.#options,
      isStopping: () => this.#isStopping,
      onKnown: slot.markKnown,
      onClosed: (left) => {
        slot.release();
        this.#sessions.delete(left);
        this.#checkAllClosed();
      },
    });
    this.#sessions.add(session);
    if (this.#isStopping) session.sayStopping();
    return session;
  }
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
