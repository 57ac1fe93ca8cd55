import { availableParallelism } from 'node:os';
import { append } from '../../../../../kernel/steps.ts';
import type { Reading, ReadResult } from './protocol.ts';
import { Quarantine } from './quarantine.ts';
import { makeTaskQueue } from './task-queue.ts';
import { ReaderThread, type Resolve, type Task, type ThreadOptions, unreadResult } from './worker.ts';

export type { Reading, ReadMail, ReadResult } from './protocol.ts';
export { unreadMail } from './protocol.ts';
export type { Resolve } from './worker.ts';

/**
 * Reads mail in worker threads, which start with the first message and end when idle. A thread that hangs or takes too much memory is
 * terminated, and each of its messages is read again in a thread of its own. A message that terminates that thread too is reported with the
 * parts read so far. Its organization is then quarantined for a while: its mail is read one message at a time, apart from other tenants' mail.
 */
export interface Reader {
  /** Never rejects. */
  read(org: string, reading: Reading): Promise<ReadResult>;
  /** Running threads, and threads terminated with unread messages. */
  readonly threads: number;
  readonly ended: number;
  stop(): Promise<void>;
}

export interface ReaderOptions {
  resolve: Resolve;
  threads?: number;
  /** Tests shorten these. */
  stuckMs?: number;
  messageMs?: number;
  dnsMs?: number;
  idleMs?: number;
  quarantineMs?: number;
}

/** Messages per thread: while one waits for the DNS, others continue. One organization gets half, so slow DNS names delay only its own mail. */
const maxPerThread = 16;

export const makeReader = (options: ReaderOptions): Reader => new ThreadedReader(options);

class ThreadedReader implements Reader {
  readonly #threadOptions: ThreadOptions;
  readonly #maxThreads: number;
  readonly #idleMs: number;
  readonly #waiting = makeTaskQueue();
  /** Messages of terminated threads and of quarantined organizations: each is read in a thread of its own. */
  readonly #suspects: Task[] = [];
  readonly #shared = new Set<ReaderThread>();
  readonly #quarantine: Quarantine;
  readonly #watch: ReturnType<typeof watchThreads>;
  #isolated: ReaderThread | undefined;
  #ended = 0;
  #isStopped = false;

  constructor(options: ReaderOptions) {
    const { resolve, stuckMs = 10_000, messageMs = 30_000, dnsMs = 10_000, idleMs = 60_000, quarantineMs = 600_000 } = options;
    this.#threadOptions = {
      resolve,
      stuckMs,
      messageMs,
      dnsMs,
      finished: (thread) => this.#messageFinished(thread),
      ended: (thread, unread, why) => this.#threadEnded(thread, unread, why),
    };
    this.#maxThreads = options.threads ?? Math.max(1, Math.min(2, availableParallelism() - 1));
    this.#idleMs = idleMs;
    this.#quarantine = new Quarantine(quarantineMs);
    this.#watch = watchThreads(
      () => this.#allThreads(),
      Math.min(1_000, stuckMs / 2),
      () => this.#endIdleThreads(),
    );
  }

  get threads(): number {
    return this.#allThreads().length;
  }

  get ended(): number {
    return this.#ended;
  }

  read(org: string, reading: Reading): Promise<ReadResult> {
    return new Promise((settle) => {
      const task: Task = { org, reading, known: {}, dnsDeadline: undefined, settle };
      if (this.#quarantine.has(org)) this.#suspects.push(task);
      else this.#waiting.add(task);
      this.#dispatch();
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#watch.stop();
    await Promise.all(this.#allThreads().map((thread) => thread.end('we stop')));
  }

  /** Assigns waiting messages to free threads. */
  #dispatch(): void {
    if (this.#isStopped) return;
    // Waiting mail of a quarantined organization could terminate the shared threads too.
    if (this.#quarantine.hasEntries)
      append(
        this.#suspects,
        this.#waiting.takeAll((org) => this.#quarantine.has(org)),
      );
    this.#isolateNextSuspect();
    this.#assignWaiting();
    this.#watch.begin();
  }

  #isolateNextSuspect(): void {
    const suspect = this.#isolated ? undefined : findMinimum(this.#suspects, ({ org }) => this.#quarantine.turnOf(org));
    if (!suspect) return;
    this.#suspects.splice(this.#suspects.indexOf(suspect), 1);
    this.#quarantine.noteTurn(suspect.org);
    this.#isolated = this.#startThread();
    this.#isolated.assign(suspect);
  }

  #assignWaiting(): void {
    for (let org = this.#nextOrg(); org !== undefined; org = this.#nextOrg()) {
      const thread = this.#findFreeThread();
      if (!thread) return;
      thread.assign(this.#waiting.take(org));
    }
  }

  /** The organization with the fewest messages in flight comes first; ties go by arrival. */
  #nextOrg(): string | undefined {
    const inFlight = new Map<string, number>();
    for (const thread of this.#shared) for (const org of thread.orgs) inFlight.set(org, (inFlight.get(org) ?? 0) + 1);
    return this.#waiting.find((org) => inFlight.get(org) ?? 0, (this.#maxThreads * maxPerThread) / 2);
  }

  /** The least loaded thread, or a new one. */
  #findFreeThread(): ReaderThread | undefined {
    const free = [...this.#shared].sort((a, b) => a.load - b.load)[0];
    if (free && (free.load === 0 || this.#shared.size >= this.#maxThreads)) return free.load < maxPerThread ? free : undefined;
    const thread = this.#startThread();
    this.#shared.add(thread);
    return thread;
  }

  #startThread(): ReaderThread {
    return new ReaderThread(this.#threadOptions);
  }

  #messageFinished(thread: ReaderThread): void {
    if (thread === this.#isolated) void thread.end('it was for one message');
    else this.#dispatch();
  }

  #threadEnded(thread: ReaderThread, unread: Task[], why: string): void {
    if (unread.length > 0) this.#ended++;
    if (thread === this.#isolated) {
      this.#isolated = undefined;
      for (const task of unread) {
        this.#quarantine.add(task.org);
        task.settle(unreadResult(task, why));
      }
    } else {
      this.#shared.delete(thread);
      append(this.#suspects, unread);
    }
    this.#dispatch();
  }

  #endIdleThreads(): void {
    for (const thread of this.#shared)
      if (thread.load === 0 && performance.now() - thread.idleSince > this.#idleMs) void thread.end('it is idle');
  }

  #allThreads(): ReaderThread[] {
    return [...this.#shared, ...(this.#isolated ? [this.#isolated] : [])];
  }
}

/** Checks all threads periodically while there are any. */
function watchThreads(threads: () => ReaderThread[], everyMs: number, look: () => void) {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const begin = () => {
    if (timer || isStopped || threads().length === 0) return;
    timer = setTimeout(() => {
      timer = undefined;
      for (const thread of threads()) thread.checkLiveness();
      look();
      begin();
    }, everyMs).unref();
  };
  return {
    begin,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** The first item with the smallest measure. */
function findMinimum<T>(all: readonly T[], measure: (one: T) => number): T | undefined {
  let [found, least]: [T | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
  for (const one of all) {
    const measured = measure(one);
    if (measured < least) [found, least] = [one, measured];
  }
  return found;
}
