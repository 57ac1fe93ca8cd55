import type { Socket } from 'node:net';
import { guarded } from '../../../../../kernel/faults/guarded.ts';
import { type FailureKind, SmtpFailure, type Stage } from './failure.ts';
import { type Reply, ReplyReader } from './replies.ts';

/** Milliseconds per step. RFC 5321 4.5.3.2 suggests more for some steps, where waiting gains nothing. */
export interface Timeouts {
  connect: number;
  greeting: number;
  /** EHLO, STARTTLS, AUTH, MAIL, RCPT, RSET. */
  command: number;
  data: number;
  /** Longest time without progress while a message is written. */
  block: number;
  /** After the final dot: giving up before the server answers would send the message twice. */
  dot: number;
}

export const defaultTimeouts: Timeouts = {
  connect: 30_000,
  greeting: 30_000,
  command: 120_000,
  data: 120_000,
  block: 120_000,
  dot: 600_000,
};

/** Pending replies of commands that were pipelined in one write. */
interface PendingReplies {
  stages: readonly Stage[];
  replies: Reply[];
  resolve: (replies: Reply[]) => void;
  reject: (failure: SmtpFailure) => void;
}

/** Commands and replies on one client socket, with a timeout for each step. */
export class SmtpConnection {
  readonly host: string;
  readonly timeouts: Timeouts;
  #socket: Socket;
  #reader: ReplyReader;
  #group: PendingReplies | undefined;
  /** The awaited step and its deadline, by performance.now(). */
  #awaited: { step: Stage | 'block'; until: number } | undefined;
  /** One timer for many steps: when it fires it checks the current step. A timer per step would cost as much as parsing its reply. */
  #timer: NodeJS.Timeout | undefined;
  #timerAt = 0;
  #failure: SmtpFailure | undefined;
  /** Called once when the connection is unusable. */
  onEnd: (() => void) | undefined;

  constructor(host: string, socket: Socket, timeouts: Timeouts) {
    this.host = host;
    this.timeouts = timeouts;
    this.#reader = new ReplyReader((reply) => this.#onReply(reply));
    this.#socket = socket;
    this.#listen();
  }

  get isClosed(): boolean {
    return this.#failure !== undefined;
  }

  write(data: string | Buffer): boolean {
    return this.#socket.write(data);
  }

  cork() {
    this.#socket.cork();
  }

  uncork() {
    this.#socket.uncork();
  }

  /**
   * Resolves with the replies to the commands just written; with fewer if the server refused one and then hung up. The timeout covers a whole
   * reply, so a server that sends it byte by byte gets no extra time.
   */
  replies(stages: readonly Stage[]): Promise<Reply[]> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#group = { stages, replies: [], resolve, reject };
      this.startTimeout(stages[0]!);
    });
  }

  async reply(stage: Stage): Promise<Reply> {
    return (await this.replies([stage]))[0]!;
  }

  /** Starts the timeout of this step. */
  startTimeout(step: Stage | 'block') {
    if (this.#failure !== undefined) return;
    const until = performance.now() + this.#timeoutOf(step);
    this.#awaited = { step, until };
    if (this.#timer === undefined || this.#timerAt > until) this.#watch(until);
  }

  #watch(until: number) {
    clearTimeout(this.#timer);
    this.#timerAt = until;
    // The open socket keeps the process alive while a caller waits, so the timer is unref'ed.
    this.#timer = setTimeout(() => this.#checkDeadline(), until - performance.now()).unref();
  }

  #checkDeadline() {
    this.#timer = undefined;
    const awaited = this.#awaited;
    if (awaited === undefined) return;
    // Timers have millisecond resolution and may fire slightly early.
    if (awaited.until - performance.now() > 1) return this.#watch(awaited.until);
    const { step } = awaited;
    const seconds = Math.ceil(this.#timeoutOf(step) / 1000);
    const doing = step === 'block' ? 'stopped taking the message' : `did not answer (${step}) within ${seconds} s`;
    this.fail('timeout', `${this.host} ${doing}`);
  }

  #disarm() {
    this.#awaited = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #timeoutOf(stage: Stage | 'block'): number {
    const { timeouts } = this;
    if (stage === 'greeting' || stage === 'data' || stage === 'dot' || stage === 'block' || stage === 'connect') return timeouts[stage];
    return timeouts.command;
  }

  /** Resolves when the write buffer is empty or the connection is closed. */
  drained(): Promise<void> {
    const socket = this.#socket;
    this.startTimeout('block');
    return new Promise((resolve) => {
      const done = guarded('email.smtp.conversation.done', socket, () => {
        socket.off('drain', done).off('close', done);
        resolve();
      });
      if (socket.destroyed || !socket.writableNeedDrain) return resolve();
      socket.on('drain', done).on('close', done);
    });
  }

  /** Stops reading until `continueOn`. Bytes that arrived before the handshake are not protected by TLS and must not be read as if they were. */
  pauseForTls() {
    if (this.#reader.isPartial) this.fail('protocol', `${this.host} talks on in the clear after it agreed to TLS`);
    if (this.#failure !== undefined) throw new SmtpFailure('starttls', 'tls', this.#failure.message);
    this.#socket.removeAllListeners('data').removeAllListeners('close');
  }

  continueOn(socket: Socket) {
    this.#socket = socket;
    this.#reader = new ReplyReader((reply) => this.#onReply(reply));
    this.#listen();
  }

  #listen() {
    this.#socket.on(
      'data',
      guarded('email.smtp.conversation.data', this.#socket, (chunk: Buffer) => {
        const wrong = this.#failure === undefined ? this.#reader.feed(chunk) : undefined;
        if (wrong !== undefined) this.fail('protocol', `${this.host} does not speak SMTP: ${wrong}`);
      }),
    );
    this.#socket.on(
      'close',
      guarded('email.smtp.conversation.close', this.#socket, () => this.fail('closed', `${this.host} closed the connection`)),
    );
  }

  #onReply(reply: Reply) {
    const group = this.#group;
    if (this.#failure !== undefined) return;
    if (group === undefined) {
      if (reply.code === 421) this.fail('closed', `${this.host} closed the connection: ${reply.text}`);
      else this.fail('protocol', `${this.host} answers what was not asked: ${reply.code} ${reply.text}`);
      return;
    }
    group.replies.push(reply);
    // RFC 5321 3.8: a server that says 421 closes the connection, so nothing more is read.
    if (reply.code === 421) this.fail('closed', `${this.host} closed the connection: ${reply.text}`);
    else if (group.replies.length === group.stages.length) this.#settle(group);
    else this.startTimeout(group.stages[group.replies.length]!);
  }

  #settle(group: PendingReplies) {
    this.#group = undefined;
    this.#awaited = undefined;
    group.resolve(group.replies);
  }

  /** Closes after pending writes are flushed, or after 5 s if the server does not read them. */
  end() {
    if (this.#failure !== undefined) return;
    this.#failure = new SmtpFailure('rset', 'closed', `the session with ${this.host} was ended here`);
    this.#disarm();
    const socket = this.#socket;
    const cut = setTimeout(() => socket.destroy(), 5_000);
    // The connection counts until the socket is closed: a server that allows ten must not see eleven.
    socket.once(
      'close',
      guarded('email.smtp.conversation.close', socket, () => {
        clearTimeout(cut);
        this.onEnd?.();
      }),
    );
    socket.end();
  }

  /** Closes at once. A pending caller gets the refusal that came before the close, if there was one. */
  fail(kind: FailureKind, sentence: string, cause?: unknown): SmtpFailure {
    if (this.#failure !== undefined) return this.#failure;
    const group = this.#group;
    const stage = group?.stages[group.replies.length] ?? group?.stages.at(-1) ?? 'rset';
    this.#failure = new SmtpFailure(stage, kind, sentence, { cause });
    this.#disarm();
    this.#group = undefined;
    this.#socket.destroy();
    if (group?.replies.some(({ code }) => code >= 400)) group.resolve(group.replies);
    else group?.reject(this.#failure);
    this.onEnd?.();
    return this.#failure;
  }
}
