import type { Socket } from 'node:net';
import type { CipherNameAndProtocol, TLSSocket } from 'node:tls';
import { guarded } from '../faults/guarded.ts';
import type { Logger } from '../log.ts';
import type { TlsContexts } from '../tls/index.ts';
import * as replies from './replies.ts';
import { wrapInTls } from './secure.ts';

export interface ConnectionOptions {
  /** Names the endpoint in the log. */
  door: string;
  log: Logger;
  /** The longest silence of the client. */
  idleMs: number;
  tls: TlsContexts;
}

/** Commands, or pieces of a message, that are read before the loop yields. */
const maxReadsPerTurn = 100;
/** How long a client may take to close its side. */
const closeTimeoutMs = 5_000;

/**
 * The bytes of one client. They are read as they come, but not while a command is being processed. Replies to commands that came together
 * leave together.
 */
export abstract class Connection {
  socket: Socket;
  isSecure: boolean;
  /** The cipher of TLS; undefined in the clear. */
  cipher: CipherNameAndProtocol | undefined;
  isClosed = false;
  readonly #options: ConnectionOptions;
  /** Bytes not read yet: at most a line that has not ended, and one chunk. */
  #waiting: Buffer | undefined;
  #replies: Buffer[] = [];
  #hasEnded = false;
  #isBusy = false;
  /** Reading is paused by `pauseReading`. */
  #isPaused = false;
  /** Runs while the client does not read our replies. */
  #unreadTimer: NodeJS.Timeout | undefined;
  #isReading = false;
  /** It has waited for its turn: the waiting bytes are read now, whatever else waits. */
  #hasTurn = false;
  #isHandshaking = false;
  #isEnding = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, isSecure: boolean, options: ConnectionOptions) {
    this.socket = socket;
    this.isSecure = isSecure;
    this.#options = options;
    this.cipher = isSecure ? (socket as TLSSocket).getCipher() : undefined;
    this.#listen();
  }

  /** Consumes bytes from the start of the chunk and returns how many. 0: more must come first. */
  protected abstract take(chunk: Buffer): number;
  /** Called before bytes are read: undefined, or a promise to wait for. */
  protected abstract takeTurn(): Promise<void> | undefined;
  /** TLS has started: everything said before is void. */
  protected abstract onTlsStarted(): void;
  /** No more bytes come. Called once when we close it, and once more when it is closed. */
  protected abstract onAbandoned(): void;
  /** The connection is closed. */
  protected abstract onClosed(): void;

  get isBusy(): boolean {
    return this.#isBusy;
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Sends a reply; 421 is the last one. The RFC 3463 code precedes the sentence. */
  send(code: number, sentence: string) {
    this.say(replies.write(code, sentence));
    if (code === 421) this.close();
  }

  /** Sends the reason and closes the connection, unless the timer is cleared before. */
  closeAfter(ms: number, why: string): NodeJS.Timeout {
    return setTimeout(() => this.send(421, `4.4.2 ${why}`), ms).unref();
  }

  /** Closes at once for another connection: the last reply leaves, and the client is not waited for. */
  evict() {
    this.send(421, '4.7.0 the server is busy, and you have not sent mail yet or send none; come again');
    this.socket.destroySoon();
  }

  /** Stops reading. A client that does not close its side is cut off. */
  close() {
    if (this.#isEnding) return;
    this.#flush();
    this.#isEnding = true;
    this.#waiting = undefined;
    this.#timer = setTimeout(() => this.socket.destroy(), closeTimeoutMs).unref();
    // In the middle of a handshake no reply can be sent.
    if (this.#isHandshaking) this.socket.destroy();
    else this.socket.end();
    this.socket.resume();
    this.onAbandoned();
  }

  protected say(bytes: Buffer) {
    if (this.#isEnding) return;
    this.#replies.push(bytes);
    if (!this.#isReading) this.#flush();
  }

  /** Stops reading until this settles. */
  protected waitFor(work: Promise<unknown>) {
    this.#isBusy = true;
    const goOn = () => {
      this.#isBusy = false;
      this.#read();
    };
    work.then(goOn, goOn);
  }

  /** Stops reading until `resumeReading`. */
  protected pauseReading() {
    this.#isPaused = true;
    this.socket.pause();
  }

  protected resumeReading() {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#isEnding) return;
    this.socket.setTimeout(this.#options.idleMs); // the pause was ours
    this.#read();
  }

  /** RFC 3207: bytes that came along with the command are dropped, now and under TLS. */
  protected startTls() {
    this.#flush();
    this.#waiting = undefined;
    this.#isHandshaking = true;
    this.#clearUnread();
    const raw = this.socket;
    raw.removeAllListeners();
    raw.read(); // bytes that came while it was paused
    raw.on('error', () => {});
    raw.setTimeout(0);
    const secure = wrapInTls(raw, this.#options.tls);
    this.socket = secure;
    this.#listen();
    secure.once(
      'secure',
      guarded('smtp.connection.secure', secure, () => {
        this.#isHandshaking = false;
        this.isSecure = true;
        this.cipher = secure.getCipher();
        this.onTlsStarted();
      }),
    );
  }

  #listen() {
    const { socket } = this;
    socket.on(
      'data',
      guarded('smtp.connection.data', socket, (chunk: Buffer) => this.#onData(chunk)),
    );
    socket.on(
      'end',
      guarded('smtp.connection.end', socket, () => {
        this.#hasEnded = true;
        this.#read();
      }),
    );
    socket.on(
      'error',
      guarded('smtp.connection.error', socket, (err) => {
        this.#options.log.debug({ err, door: this.#options.door }, 'a connection at an SMTP door failed');
        socket.destroy();
      }),
    );
    socket.on(
      'close',
      guarded('smtp.connection.close', socket, () => this.#end()),
    );
    socket.on(
      'drain',
      guarded('smtp.connection.drain', socket, () => {
        this.#clearUnread();
        this.#read();
      }),
    );
    socket.on(
      'timeout',
      guarded('smtp.connection.timeout', socket, () => this.#onTimeout()),
    );
    socket.setTimeout(this.#options.idleMs);
  }

  /** Only a client that owes us something times out: RFC 5321 4.5.3.2 has clients wait for minutes. */
  #onTimeout() {
    if (this.#isEnding) this.socket.destroy();
    else if (this.#isBusy || this.#isPaused) this.socket.setTimeout(this.#options.idleMs);
    else this.send(421, '4.4.2 nothing came for too long; come again');
  }

  #end() {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#isEnding = true;
    clearTimeout(this.#timer);
    this.#clearUnread();
    this.#waiting = undefined;
    this.onAbandoned();
    this.onClosed();
  }

  #onData(chunk: Buffer) {
    if (this.#isEnding) return;
    this.#waiting = this.#waiting ? Buffer.concat([this.#waiting, chunk]) : chunk;
    this.#read();
  }

  /** Not while a command is being processed, reading is held back, or the client does not read our replies. */
  get #mayRead(): boolean {
    return !(this.#isBusy || this.#isPaused || this.#unreadTimer);
  }

  #read() {
    if (this.#isReading || this.#isEnding) return;
    if (this.#mayRead) this.#readSome();
    if (this.#isEnding || this.#isHandshaking) return;
    // While unread bytes remain, the socket is paused: the buffer does not grow, however much is sent.
    if (this.#isPaused || (this.#waiting && !this.#mayRead)) this.socket.pause();
    else if (this.socket.isPaused()) this.socket.resume();
  }

  #readSome() {
    const turn = this.#waiting && !this.#hasTurn ? this.takeTurn() : undefined;
    this.#hasTurn = turn !== undefined;
    if (turn) return this.waitFor(turn);
    this.#isReading = true;
    let left = maxReadsPerTurn;
    for (let chunk = this.#waiting; chunk && left > 0; chunk = this.#waiting) {
      left--;
      this.#waiting = undefined;
      const taken = this.take(chunk);
      if (this.#isEnding || this.#isHandshaking) break; // the rest is dropped
      this.#waiting = taken < chunk.length ? chunk.subarray(taken) : undefined;
      if (taken === 0 || !this.#mayRead) break;
    }
    this.#isReading = false;
    this.#flush();
    if (!this.#mayRead || this.#isEnding) return;
    if (left === 0 && this.#waiting) this.waitFor(new Promise(setImmediate));
    else if (this.#hasEnded) this.close();
  }

  #flush() {
    const said = this.#replies;
    if (said.length === 0) return;
    this.#replies = [];
    if (this.#isHandshaking || this.socket.destroyed || !this.socket.writable) return;
    if (this.socket.write(said.length === 1 ? said[0]! : Buffer.concat(said))) return;
    // A client that does not read our replies is not read from until it does. The replies are a few KiB, so there is no partial progress to
    // track.
    this.#unreadTimer ??= this.closeAfter(this.#options.idleMs, 'you did not read what you were told; come again');
  }

  #clearUnread() {
    clearTimeout(this.#unreadTimer);
    this.#unreadTimer = undefined;
  }
}
