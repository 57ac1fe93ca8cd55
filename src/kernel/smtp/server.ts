import type { Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js';
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import type { Crowd } from '../shares/index.ts';

// What every SMTP door changes of the library: connections are counted before anything is done for them, and answers bring their own codes.

export interface Counted {
  connections: Crowd;
  placeOf(socket: Socket): string;
}

export class CountedConnection extends SMTPConnection {
  /** Gives its place among the connections back. */
  leave: () => void = () => {};

  /** Where all of a message came at once, its end is searched for; the library would look at each of its bytes. */
  override _createParser(): SMTPStream {
    const parser = super._createParser();
    const feed = parser._feedDataStream.bind(parser);
    parser._feedDataStream = (chunk, done) => {
      const end = parser._atDataStart && !parser._lastBytes ? findOnlyEnd(chunk) : -1;
      if (end < 0) return feed(chunk, done);
      parser._countDataBytes(end);
      parser._endDataMode(chunk.subarray(0, end), chunk.subarray(end + 3), done);
    };
    return parser;
  }

  override _onClose(): void {
    this.leave();
    super._onClose();
  }

  /** Sentences of ours bring the code of RFC 3463 along; the library would put another one before it. */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    super.send(code, data, typeof data === 'string' && /^[245]\.\d{1,3}\.\d{1,3} /.test(data) ? false : context);
  }
}

/** Where the dot is that ends a message in which no other line begins with one; -1: the library knows what to do. */
function findOnlyEnd(chunk: Buffer): number {
  const lineFeed = chunk[0] === 0x2e ? -1 : chunk.indexOf('\n.');
  return lineFeed >= 1 && chunk.indexOf('\r\n.\r\n', lineFeed - 1) === lineFeed - 1 ? lineFeed + 1 : -1;
}

type MakeConnection<C extends CountedConnection> = new (server: SMTPServer, socket: Socket, options?: SMTPConnectionOptions | null) => C;

export class CountedServer<C extends CountedConnection = CountedConnection> extends SMTPServer {
  readonly #counted: Counted;
  readonly #Connection: MakeConnection<C>;
  readonly #leaving = new WeakMap<Socket, () => void>();
  readonly #bySession = new WeakMap<SMTPServerSession, C>();

  constructor(options: SMTPServerOptions, counted: Counted, Connection: MakeConnection<C>) {
    super(options);
    this.#counted = counted;
    this.#Connection = Connection;
  }

  connectionOf(session: SMTPServerSession): C {
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
    const connection = new this.#Connection(this, socket, options);
    // STARTTLS takes all listeners off the socket, ours among them: from here on it is the connection that says when it is over.
    connection.leave = this.#leaving.get(socket) ?? connection.leave;
    this.#bySession.set(connection.session, connection);
    this.connections.add(connection);
    connection.on('error', (error) => this._onError(error));
    connection.on('connect', (data) => this._onClientConnect(data));
    connection.init();
  }
}
