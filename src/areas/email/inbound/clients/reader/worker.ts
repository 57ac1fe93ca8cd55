import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { runFor } from '../../../../../kernel/fairness/index.ts';
import { type FromThread, type Reading, type ReadMail, type ReadResult, type ToThread, unreadMail } from './protocol.ts';

/** Resolves a DNS question: its records, or an error code of Node's resolver. */
export type Resolve = (name: string, rrtype: string, signal: AbortSignal) => Promise<{ records: unknown[] } | { code: string }>;

/** A message to read, with the callback of its caller. */
export interface Task {
  org: string;
  reading: Reading;
  /** Partial result of a terminated thread. */
  known: Partial<ReadMail>;
  /** One deadline for all DNS questions of the message, so that an absent resolver delays it only once. */
  dnsDeadline: AbortSignal | undefined;
  settle(result: ReadResult): void;
}

export interface ThreadOptions {
  resolve: Resolve;
  /** A thread without a message for this long hangs. */
  stuckMs: number;
  /** Limits for one message, and for its DNS questions. */
  messageMs: number;
  dnsMs: number;
  /** Called after each finished message. */
  finished(thread: ReaderThread): void;
  /** Called when the thread ends, with its unread messages. */
  ended(thread: ReaderThread, unread: Task[], why: string): void;
}

const memory = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
/** Time to load the parsers on a busy machine. */
const startTimeoutMs = 30_000;
const program = new URL(`./thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/** Passes only the compile cache folder: with it a thread starts in half the time. */
function threadEnv(): Record<string, string> {
  const ofThisNode = getCompileCacheDir(); // a subfolder for this Node version and its flags
  return ofThisNode ? { NODE_COMPILE_CACHE: dirname(ofThisNode) } : {};
}

const tooLong = 'reading it took too long';
const tooMuch = 'reading it took more memory than there is for one message';
const vanished = 'the thread that read it ended';

/** One worker thread and the messages assigned to it. */
export class ReaderThread {
  readonly #options: ThreadOptions;
  readonly #worker = new Worker(program, { resourceLimits: memory, env: threadEnv(), execArgv: [] });
  readonly #tasks = new Map<number, { task: Task; assignedAt: number }>();
  readonly #startedAt = performance.now();
  /** Time of its last message; undefined while it starts. */
  #lastMessageAt: number | undefined;
  #readyAt = Number.POSITIVE_INFINITY;
  #isOver = false;
  #ids = 0;
  idleSince: number = performance.now();

  constructor(options: ThreadOptions) {
    this.#options = options;
    this.#worker.unref();
    this.#worker.on('message', (message: FromThread) => this.#onMessage(message));
    this.#worker.on('error', (error: NodeJS.ErrnoException) => this.end(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuch : vanished));
    this.#worker.on('exit', () => this.end(vanished));
  }

  get load(): number {
    return this.#tasks.size;
  }

  /** Organizations of its messages, once per message. */
  get orgs(): string[] {
    return [...this.#tasks.values()].map(({ task }) => task.org);
  }

  assign(task: Task): void {
    const assignedAt = performance.now();
    if (this.load === 0 && this.#lastMessageAt !== undefined) this.#lastMessageAt = assignedAt;
    const id = ++this.#ids;
    // A message that is read again gets a fresh DNS deadline.
    task.dnsDeadline = undefined;
    this.#tasks.set(id, { task, assignedAt });
    // A copy, since the message may have to be read again.
    const raw = new Uint8Array(task.reading.raw);
    this.#worker.postMessage({ type: 'read', id, reading: { ...task.reading, raw } } satisfies ToThread, [raw.buffer]);
  }

  /** Terminates a hanging thread; otherwise pings it. */
  checkLiveness(): void {
    if (this.load === 0) return;
    const now = performance.now();
    const { stuckMs, messageMs } = this.#options;
    const isStuck = this.#lastMessageAt === undefined ? now - this.#startedAt > startTimeoutMs : now - this.#lastMessageAt > stuckMs;
    const isLate = [...this.#tasks.values()].some(({ assignedAt }) => now - Math.max(assignedAt, this.#readyAt) > messageMs);
    if (isStuck || isLate) this.end(tooLong);
    else this.#worker.postMessage({ type: 'ping', id: 0 } satisfies ToThread);
  }

  end(why: string): Promise<unknown> {
    if (this.#isOver) return Promise.resolve();
    this.#isOver = true;
    const unread = [...this.#tasks.values()].map(({ task }) => task);
    this.#tasks.clear();
    this.#options.ended(this, unread, why);
    return this.#worker.terminate();
  }

  #onMessage(message: FromThread): void {
    if (this.#isOver) return;
    const now = performance.now();
    if (this.#lastMessageAt === undefined) this.#readyAt = now;
    this.#lastMessageAt = now;
    if (message.type === 'pong') return;
    if (message.type === 'dns') return void this.#answer(message);
    const task = this.#tasks.get(message.id)?.task;
    if (!task) return;
    if (message.type === 'part') {
      task.known = message.part;
      return;
    }
    this.#tasks.delete(message.id);
    this.idleSince = now;
    task.settle(message.type === 'done' ? message.result : unreadResult(task, message.why));
    this.#options.finished(this);
  }

  async #answer({ id, reading, name, rrtype }: Extract<FromThread, { type: 'dns' }>): Promise<void> {
    const task = this.#tasks.get(reading)?.task;
    // The asking message is finished, but another message may share the question.
    if (!task) return this.#worker.postMessage({ type: 'dns', id, answer: { code: 'ETIMEOUT' } } satisfies ToThread);
    task.dnsDeadline ??= AbortSignal.timeout(this.#options.dnsMs);
    const { dnsDeadline: signal, org } = task;
    // Messages of a thread run in the context that started it, so the organization is set here.
    const ask = () => this.#options.resolve(name, rrtype, signal);
    const answer = await runFor({ org, operation: 'email.read' }, ask).catch(() => ({ code: 'ETIMEOUT' }));
    if (!this.#isOver) this.#worker.postMessage({ type: 'dns', id, answer } satisfies ToThread);
  }
}

/** The result for a message that could not be read. */
export const unreadResult = (task: Task, why: string): ReadResult =>
  task.reading.kind === 'report'
    ? { kind: 'report', report: { kind: 'other', recipients: [] } }
    : { kind: 'mail', mail: unreadMail(why, task.known) };
