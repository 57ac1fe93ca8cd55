import type { Socket } from 'node:net';
import type { CipherNameAndProtocol, SecureContext, TLSSocket } from 'node:tls';
import { guarded } from '../faults/guarded.ts';
import type { Logger } from '../log.ts';
import { wrapInTls } from './secure.ts';
import * as words from './words.ts';

export interface ConnectionOptions {
  /** Names the door in the log. */
  door: string;
  log: Logger;
  /** Without a byte from the other side. */
  idleMs: number;
  secureContext(): SecureContext;
}

/** Commands, or pieces of a message, that are read before others have a turn. */
const atOnce = 100;
/** Who does not close is waited for so long. */
const closeMs = 5_000;

/**
 * The bytes of one client. They are read as they come, and not while the door thinks about what they said; what is said in answer to what came
 * together leaves together.
 */
export abstract class Connection {
  socket: Socket;
  isSecure: boolean;
  /** By which TLS; undefined in the clear. */
  cipher: CipherNameAndProtocol | undefined;
  isClosed = false;
  readonly #options: ConnectionOptions;
  /** What came and was not read yet: at most a line that has not ended, and one chunk. */
  #waiting: Buffer | undefined;
  #said: Buffer[] = [];
  #hasEnded = false;
  #isBusy = false;
  /** We want no more for now. */
  #isHeldBack = false;
  /** Runs while the client does not read what we say. */
  #unheard: NodeJS.Timeout | undefined;
  #isReading = false;
  /** It has waited for its turn: what came is read now, whoever else waits. */
  #hasTurn = false;
  #isShaking = false;
  #isEnding = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, isSecure: boolean, options: ConnectionOptions) {
    this.socket = socket;
    this.isSecure = isSecure;
    this.#options = options;
    this.cipher = isSecure ? (socket as TLSSocket).getCipher() : undefined;
    this.#listen();
  }

  /** Reads from the beginning of what came: how many bytes. 0: more must come first. */
  protected abstract take(chunk: Buffer): number;
  /** Before what came is read: undefined, or what is waited for first. */
  protected abstract takeTurn(): Promise<void> | undefined;
  /** TLS has begun: nothing that was said before counts. */
  protected abstract beginAnew(): void;
  /** Nothing more comes. Told once when we close it, and once more when it is closed. */
  protected abstract abandon(): void;
  /** It is closed. */
  protected abstract leave(): void;

  get isBusy(): boolean {
    return this.#isBusy;
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Says something; 421 is the last that is said. The code of RFC 3463 stands before the sentence. */
  send(code: number, sentence: string) {
    this.say(words.write(code, sentence));
    if (code === 421) this.close();
  }

  /** Says why, and closes the connection, unless the timer is cleared before. */
  cutAfter(ms: number, why: string): NodeJS.Timeout {
    return setTimeout(() => this.send(421, `4.4.2 ${why}`), ms).unref();
  }

  /** Ends it at once for another connection: what is said last leaves, and the client is not waited for. */
  evict() {
    this.send(421, '4.7.0 the server is busy, and you have not sent mail yet or send none; come again');
    this.socket.destroySoon();
  }

  /** Nothing more is heard. Who does not close either is cut off. */
  close() {
    if (this.#isEnding) return;
    this.#flush();
    this.#isEnding = true;
    this.#waiting = undefined;
    this.#timer = setTimeout(() => this.socket.destroy(), closeMs).unref();
    // In the middle of a handshake there is nothing to be said.
    if (this.#isShaking) this.socket.destroy();
    else this.socket.end();
    this.socket.resume();
    this.abandon();
  }

  protected say(bytes: Buffer) {
    if (this.#isEnding) return;
    this.#said.push(bytes);
    if (!this.#isReading) this.#flush();
  }

  /** Nothing is read until this is over. */
  protected waitFor(work: Promise<unknown>) {
    this.#isBusy = true;
    const goOn = () => {
      this.#isBusy = false;
      this.#read();
    };
    work.then(goOn, goOn);
  }

  /** Nothing is read until `letCome`. */
  protected holdBack() {
    this.#isHeldBack = true;
    this.socket.pause();
  }

  protected letCome() {
    if (!this.#isHeldBack) return;
    this.#isHeldBack = false;
    if (this.#isEnding) return;
    this.socket.setTimeout(this.#options.idleMs); // the pause was ours
    this.#read();
  }

  /** RFC 3207: what came along with the command is not heard, neither now nor under TLS. */
  protected shakeHands() {
    this.#flush();
    this.#waiting = undefined;
    this.#isShaking = true;
    this.#hasListened();
    const raw = this.socket;
    raw.removeAllListeners();
    raw.read(); // what came while it was paused
    raw.on('error', () => {});
    raw.setTimeout(0);
    const secure = wrapInTls(raw, this.#options.secureContext());
    this.socket = secure;
    this.#listen();
    secure.once(
      'secure',
      guarded('smtp.connection.secure', secure, () => {
        this.#isShaking = false;
        this.isSecure = true;
        this.cipher = secure.getCipher();
        this.beginAnew();
      }),
    );
  }

  #listen() {
    const { socket } = this;
    socket.on(
      'data',
      guarded('smtp.connection.data', socket, (chunk: Buffer) => this.#hear(chunk)),
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
        this.#hasListened();
        this.#read();
      }),
    );
    socket.on(
      'timeout',
      guarded('smtp.connection.timeout', socket, () => this.#giveUp()),
    );
    socket.setTimeout(this.#options.idleMs);
  }

  /** Only those who owe us something are sent away: RFC 5321 4.5.3.2 has clients wait for minutes. */
  #giveUp() {
    if (this.#isEnding) this.socket.destroy();
    else if (this.#isBusy || this.#isHeldBack) this.socket.setTimeout(this.#options.idleMs);
    else this.send(421, '4.4.2 nothing came for too long; come again');
  }

  #end() {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#isEnding = true;
    clearTimeout(this.#timer);
    this.#hasListened();
    this.#waiting = undefined;
    this.abandon();
    this.leave();
  }

  #hear(chunk: Buffer) {
    if (this.#isEnding) return;
    this.#waiting = this.#waiting ? Buffer.concat([this.#waiting, chunk]) : chunk;
    this.#read();
  }

  /** Not while somebody is asked something, while we have enough, or while the client does not listen to what we say. */
  get #mayRead(): boolean {
    return !(this.#isBusy || this.#isHeldBack || this.#unheard);
  }

  #read() {
    if (this.#isReading || this.#isEnding) return;
    if (this.#mayRead) this.#readSome();
    if (this.#isEnding || this.#isShaking) return;
    // Nothing more comes while something that came is left: what waits does not grow, however much is sent.
    if (this.#isHeldBack || (this.#waiting && !this.#mayRead)) this.socket.pause();
    else if (this.socket.isPaused()) this.socket.resume();
  }

  #readSome() {
    const turn = this.#waiting && !this.#hasTurn ? this.takeTurn() : undefined;
    this.#hasTurn = turn !== undefined;
    if (turn) return this.waitFor(turn);
    this.#isReading = true;
    let left = atOnce;
    for (let chunk = this.#waiting; chunk && left > 0; chunk = this.#waiting) {
      left--;
      this.#waiting = undefined;
      const taken = this.take(chunk);
      if (this.#isEnding || this.#isShaking) break; // what else came is heard by nobody
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
    const said = this.#said;
    if (said.length === 0) return;
    this.#said = [];
    if (this.#isShaking || this.socket.destroyed || !this.socket.writable) return;
    if (this.socket.write(said.length === 1 ? said[0]! : Buffer.concat(said))) return;
    // Who does not read what we say is not heard until it does. It is a few KiB, so that there is no progress to look for.
    this.#unheard ??= this.cutAfter(this.#options.idleMs, 'you did not read what you were told; come again');
  }

  #hasListened() {
    clearTimeout(this.#unheard);
    this.#unheard = undefined;
  }
}
