import type { Socket } from 'node:net';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { type FailureKind, SmtpFailure, type Stage } from './failure.ts';
import { type Reply, ReplyReader } from './replies.ts';

/** Milliseconds that each step may take (RFC 5321 4.5.3.2 asks for more where nothing is gained by it). */
export interface Timeouts {
  connect: number;
  greeting: number;
  /** EHLO, STARTTLS, AUTH, MAIL, RCPT, RSET. */
  command: number;
  data: number;
  /** While a message goes out: how long the other side may take none of it. */
  block: number;
  /** After the message: whoever gives up before the other side does sends it twice. */
  dot: number;
}

export const usualTimeouts: Timeouts = {
  connect: 30_000,
  greeting: 30_000,
  command: 120_000,
  data: 120_000,
  block: 120_000,
  dot: 600_000,
};

/** Replies that are waited for together: those of commands that went out in one write. */
interface Group {
  stages: readonly Stage[];
  replies: Reply[];
  resolve: (replies: Reply[]) => void;
  reject: (failure: SmtpFailure) => void;
}

/** Commands and replies on one socket, whatever the other side does with it. */
export class Conversation {
  readonly host: string;
  readonly timeouts: Timeouts;
  #socket: Socket;
  #reader: ReplyReader;
  #group: Group | undefined;
  /** What is waited for, and until when: by performance.now(). */
  #awaited: { step: Stage | 'block'; until: number } | undefined;
  /** One for many steps: when it fires it looks whether the step of then is overdue. A timer for each would cost as much as reading its reply. */
  #timer: NodeJS.Timeout | undefined;
  #timerAt = 0;
  #failure: SmtpFailure | undefined;
  /** Told once, when it can be used no longer. */
  onEnd: (() => void) | undefined;

  constructor(host: string, socket: Socket, timeouts: Timeouts) {
    this.host = host;
    this.timeouts = timeouts;
    this.#reader = new ReplyReader((reply) => this.#hear(reply));
    this.#socket = socket;
    this.#listen();
  }

  get isOver(): boolean {
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
   * The replies to commands that were just written. Fewer come back if one of them was a refusal after which the other side hung up.
   * Each has the time of its step, however it comes: byte by byte is no excuse.
   */
  replies(stages: readonly Stage[]): Promise<Reply[]> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#group = { stages, replies: [], resolve, reject };
      this.arm(stages[0]!);
    });
  }

  async reply(stage: Stage): Promise<Reply> {
    return (await this.replies([stage]))[0]!;
  }

  /** Gives the step that is waited for its time, from now. */
  arm(step: Stage | 'block') {
    if (this.#failure !== undefined) return;
    const until = performance.now() + this.#patience(step);
    this.#awaited = { step, until };
    if (this.#timer === undefined || this.#timerAt > until) this.#watch(until);
  }

  #watch(until: number) {
    clearTimeout(this.#timer);
    this.#timerAt = until;
    // While anybody waits there is a socket: the timer need not keep the process, also after a conversation that nobody ended.
    this.#timer = setTimeout(() => this.#look(), until - performance.now()).unref();
  }

  #look() {
    this.#timer = undefined;
    const awaited = this.#awaited;
    if (awaited === undefined) return;
    // Timers count in whole milliseconds, and may be a part of one early.
    if (awaited.until - performance.now() > 1) return this.#watch(awaited.until);
    const { step } = awaited;
    const seconds = Math.ceil(this.#patience(step) / 1000);
    const doing = step === 'block' ? 'stopped taking the message' : `did not answer (${step}) within ${seconds} s`;
    this.fail('timeout', `${this.host} ${doing}`);
  }

  #disarm() {
    this.#awaited = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #patience(stage: Stage | 'block'): number {
    const { timeouts } = this;
    if (stage === 'greeting' || stage === 'data' || stage === 'dot' || stage === 'block' || stage === 'connect') return timeouts[stage];
    return timeouts.command;
  }

  /** Until the other side has taken what was written, or the conversation is over. */
  drained(): Promise<void> {
    const socket = this.#socket;
    this.arm('block');
    return new Promise((resolve) => {
      const done = guarded('email.smtp.conversation.done', socket, () => {
        socket.off('drain', done).off('close', done);
        resolve();
      });
      if (socket.destroyed || !socket.writableNeedDrain) return resolve();
      socket.on('drain', done).on('close', done);
    });
  }

  /** For a handshake: nobody reads until `continueOn`. What came too early was not said under TLS, and must not be taken for it. */
  pauseForTls() {
    if (this.#reader.isAmid) this.fail('protocol', `${this.host} talks on in the clear after it agreed to TLS`);
    if (this.#failure !== undefined) throw new SmtpFailure('starttls', 'tls', this.#failure.message);
    this.#socket.removeAllListeners('data').removeAllListeners('close');
  }

  continueOn(socket: Socket) {
    this.#socket = socket;
    this.#reader = new ReplyReader((reply) => this.#hear(reply));
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

  #hear(reply: Reply) {
    const group = this.#group;
    if (this.#failure !== undefined) return;
    if (group === undefined) {
      if (reply.code === 421) this.fail('closed', `${this.host} closed the connection: ${reply.text}`);
      else this.fail('protocol', `${this.host} answers what was not asked: ${reply.code} ${reply.text}`);
      return;
    }
    group.replies.push(reply);
    // RFC 5321 3.8: whoever says 421 hangs up. Nothing more is read from them.
    if (reply.code === 421) this.fail('closed', `${this.host} closed the connection: ${reply.text}`);
    else if (group.replies.length === group.stages.length) this.#settle(group);
    else this.arm(group.stages[group.replies.length]!);
  }

  #settle(group: Group) {
    this.#group = undefined;
    this.#awaited = undefined;
    group.resolve(group.replies);
  }

  /** Closes once what was written has left; a peer that does not let it leave is not waited for. */
  end() {
    if (this.#failure !== undefined) return;
    this.#failure = new SmtpFailure('rset', 'closed', `the session with ${this.host} was ended here`);
    this.#disarm();
    const socket = this.#socket;
    const cut = setTimeout(() => socket.destroy(), 5_000);
    // It counts until it is closed: a server that allows us ten must not see eleven.
    socket.once(
      'close',
      guarded('email.smtp.conversation.close', socket, () => {
        clearTimeout(cut);
        this.onEnd?.();
      }),
    );
    socket.end();
  }

  /** Ends it. Whoever waits gets the refusal that came before the end, if there was one. */
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
