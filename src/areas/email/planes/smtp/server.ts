import type { Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js';
import { isFromHere } from '../../../../kernel/http/peer.ts';
import type { Crowd } from './crowd.ts';

// What we change of the library: nobody is made to wait for the greeting, passwords travel in the clear only on this machine, and
// connections are counted before anything is done for them.

export interface Counted {
  connections: Crowd;
  placeOf(socket: Socket): string;
}

export class SubmissionConnection extends SMTPConnection {
  /** Gives its place among the connections back. */
  leave: () => void = () => {};
  #hidesAuth = false;

  /** The library waits 100 ms to catch clients that talk too early. Those that log in are no strangers, and would only be slower. */
  override init(): void {
    this._setListeners(() => this.connectionReady());
  }

  override _onClose(): void {
    this.leave();
    super._onClose();
  }

  /** Sentences of ours bring the code of RFC 3463 along; the library would put another one before it. */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    super.send(code, data, typeof data === 'string' && /^[245]\.\d{1,3}\.\d{1,3} /.test(data) ? false : context);
  }

  override handler_EHLO(command: Buffer, callback: () => void): void {
    this.#hidesAuth = !this.#mayLogIn();
    super.handler_EHLO(command, callback);
    this.#hidesAuth = false;
  }

  override _isSupported(command: string): boolean {
    return !(this.#hidesAuth && command === 'AUTH') && super._isSupported(command);
  }

  override handler_AUTH(command: Buffer, callback: () => void): void {
    if (this.#mayLogIn()) {
      super.handler_AUTH(command, callback);
      return;
    }
    this.send(538, '5.7.11 say STARTTLS first: a key must not travel in the clear');
    callback();
  }

  #mayLogIn(): boolean {
    return this.secure || isFromHere(this._socket);
  }
}

export class SubmissionServer extends SMTPServer {
  readonly #counted: Counted;
  readonly #leaving = new WeakMap<Socket, () => void>();
  readonly #bySession = new WeakMap<SMTPServerSession, SubmissionConnection>();

  constructor(options: SMTPServerOptions, counted: Counted) {
    super(options);
    this.#counted = counted;
  }

  connectionOf(session: SMTPServerSession): SubmissionConnection {
    return this.#bySession.get(session)!;
  }

  /** The first that the library does with a connection; before the handshake of TLS, which costs a millisecond. */
  override _acceptSocket(socket: Socket, handshake: boolean): (() => void) | false {
    const leave = this.#counted.connections.enter(this.#counted.placeOf(socket));
    if (!leave) {
      socket.on('error', () => {});
      if (handshake) socket.destroy();
      else socket.end('421 4.7.0 too many connections; close some, or try again in a while\r\n', () => socket.destroy());
      return false;
    }
    this.#leaving.set(socket, leave);
    socket.once('close', leave);
    const release = super._acceptSocket(socket, handshake);
    if (!release) leave();
    return release;
  }

  override connect(socket: Socket, options?: SMTPConnectionOptions | null): void {
    const connection = new SubmissionConnection(this, socket, options);
    // STARTTLS takes all listeners off the socket, ours among them: from here on it is the connection that says when it is over.
    connection.leave = this.#leaving.get(socket) ?? connection.leave;
    this.#bySession.set(connection.session, connection);
    this.connections.add(connection);
    connection.on('error', (error) => this._onError(error));
    connection.on('connect', (data) => this._onClientConnect(data));
    connection.init();
  }
}
