import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { type FromThread, type Reading, type ReadMail, type ReadResult, type ToThread, unreadMail } from './protocol.ts';

/** A question to the DNS: its records, or the code of Node's resolver. */
export type Resolve = (name: string, rrtype: string, signal: AbortSignal) => Promise<{ records: unknown[] } | { code: string }>;

/** A message to be read, and who waits for it. */
export interface Task {
  org: string;
  reading: Reading;
  /** As far as it was read when its thread ended. */
  known: Partial<ReadMail>;
  /** All its questions to the DNS have so long together: a resolver that is away holds up no message for longer. */
  dns: AbortSignal | undefined;
  settle(result: ReadResult): void;
}

export interface ThreadOptions {
  resolve: Resolve;
  /** Without an answer for so long, it hangs. */
  stuckMs: number;
  /** For one message, all in all, and for its questions to the DNS. */
  messageMs: number;
  dnsMs: number;
  /** Somebody was read to the end. */
  finished(thread: Thread): void;
  /** It is over, with these unread. */
  ended(thread: Thread, unread: Task[], why: string): void;
}

const memory = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
/** Until it has loaded what it reads with, on however busy a machine. */
const startMs = 30_000;
const program = new URL(`./thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/** Nothing of the process's environment but where compiled code is kept: with it a thread starts in half the time. */
function threadEnv(): Record<string, string> {
  const ofThisNode = getCompileCacheDir(); // a folder below the one that was given, for this version and its flags
  return ofThisNode ? { NODE_COMPILE_CACHE: dirname(ofThisNode) } : {};
}

const tooLong = 'reading it took too long';
const tooMuch = 'reading it took more memory than there is for one message';
const vanished = 'the thread that read it ended';

/** One thread, with what it reads. */
export class Thread {
  readonly #options: ThreadOptions;
  readonly #worker = new Worker(program, { resourceLimits: memory, env: threadEnv(), execArgv: [] });
  readonly #tasks = new Map<number, { task: Task; since: number }>();
  readonly #startedAt = performance.now();
  /** When it last said anything; undefined while it starts. */
  #heardAt: number | undefined;
  #readyAt = Number.POSITIVE_INFINITY;
  #isOver = false;
  #ids = 0;
  idleSince: number = performance.now();

  constructor(options: ThreadOptions) {
    this.#options = options;
    this.#worker.unref();
    this.#worker.on('message', (message: FromThread) => this.#hear(message));
    this.#worker.on('error', (error: NodeJS.ErrnoException) => this.end(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuch : vanished));
    this.#worker.on('exit', () => this.end(vanished));
  }

  get load(): number {
    return this.#tasks.size;
  }

  /** Whose messages it reads at this moment. */
  get orgs(): string[] {
    return [...this.#tasks.values()].map(({ task }) => task.org);
  }

  give(task: Task): void {
    const since = performance.now();
    if (this.load === 0 && this.#heardAt !== undefined) this.#heardAt = since;
    const id = ++this.#ids;
    // Who was read before, beside one that ended the thread, has all the time for the DNS again.
    task.dns = undefined;
    this.#tasks.set(id, { task, since });
    // A copy: it may have to be read again.
    const raw = new Uint8Array(task.reading.raw);
    this.#worker.postMessage({ type: 'read', id, reading: { ...task.reading, raw } } satisfies ToThread, [raw.buffer]);
  }

  /** Ends it if it hangs; else asks whether it does. */
  look(): void {
    if (this.load === 0) return;
    const now = performance.now();
    const { stuckMs, messageMs } = this.#options;
    const isStuck = this.#heardAt === undefined ? now - this.#startedAt > startMs : now - this.#heardAt > stuckMs;
    const isLate = [...this.#tasks.values()].some(({ since }) => now - Math.max(since, this.#readyAt) > messageMs);
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

  #hear(message: FromThread): void {
    if (this.#isOver) return;
    const now = performance.now();
    if (this.#heardAt === undefined) this.#readyAt = now;
    this.#heardAt = now;
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
    task.settle(message.type === 'done' ? message.result : giveUp(task, message.why));
    this.#options.finished(this);
  }

  async #answer({ id, reading, name, rrtype }: Extract<FromThread, { type: 'dns' }>): Promise<void> {
    const task = this.#tasks.get(reading)?.task;
    // It was read without this answer, but somebody else may wait for it by now.
    if (!task) return this.#worker.postMessage({ type: 'dns', id, answer: { code: 'ETIMEOUT' } } satisfies ToThread);
    task.dns ??= AbortSignal.timeout(this.#options.dnsMs);
    const { dns: signal, org } = task;
    // What a thread says comes in the name of whoever started it.
    const ask = () => this.#options.resolve(name, rrtype, signal);
    const answer = await runFor({ org, operation: 'email.read' }, ask).catch(() => ({ code: 'ETIMEOUT' }));
    if (!this.#isOver) this.#worker.postMessage({ type: 'dns', id, answer } satisfies ToThread);
  }
}

/** What is told of a message that cannot be read. */
export const giveUp = (task: Task, why: string): ReadResult =>
  task.reading.kind === 'report'
    ? { kind: 'report', report: { kind: 'other', recipients: [] } }
    : { kind: 'mail', mail: unreadMail(why, task.known) };
