import { availableParallelism } from 'node:os';
import type { Reading, ReadResult } from './protocol.ts';
import { giveUp, type Resolve, type Task, Thread } from './threads.ts';

export type { Reading, ReadMail, ReadResult } from './protocol.ts';
export { unreadMail } from './protocol.ts';
export type { Resolve } from './threads.ts';

/**
 * Reads mail in threads, which are started by the first message and end when there was none for a while. A thread that does not answer, or
 * takes too much memory, is ended; what it had in hand is read again, one by one, each in a thread of its own, and the one that ends that
 * too is told with what is known of it. Whoever such a message was for is read apart for a while: others do not wait for them.
 */
export interface Reader {
  /** Never rejects. */
  read(org: string, reading: Reading): Promise<ReadResult>;
  /** Threads at this moment, and how many had to be ended. */
  readonly threads: number;
  readonly ended: number;
  stop(): Promise<void>;
}

export interface ReaderOptions {
  resolve: Resolve;
  threads?: number;
  /** For tests: how patient we are. */
  stuckMs?: number;
  messageMs?: number;
  dnsMs?: number;
  idleMs?: number;
  apartMs?: number;
}

/** Read by one thread at a time; while one waits for the DNS, others go on. */
const perThread = 8;
const mostApart = 10_000;

export function makeReader(options: ReaderOptions): Reader {
  const { stuckMs = 10_000, messageMs = 30_000, dnsMs = 10_000, idleMs = 60_000, apartMs = 600_000 } = options;
  const most = options.threads ?? Math.max(1, Math.min(2, availableParallelism() - 1));
  const waiting: Task[] = [];
  const suspects: Task[] = [];
  const shared = new Set<Thread>();
  const apart = keepApart(apartMs);
  let alone: Thread | undefined;
  let ended = 0;
  let isStopped = false;

  const start = () =>
    new Thread({
      ...{ resolve: options.resolve, stuckMs, messageMs, dnsMs },
      finished: (thread) => {
        if (thread === alone) void thread.end('it was for one message');
        else hand();
      },
      ended: (thread, unread, why) => {
        if (unread.length > 0) ended++;
        if (thread === alone) {
          alone = undefined;
          for (const task of unread) {
            apart.add(task.org);
            task.settle(giveUp(task, why));
          }
        } else {
          shared.delete(thread);
          suspects.push(...unread);
        }
        hand();
      },
    });
  const freeThread = (): Thread | undefined => {
    const free = [...shared].sort((a, b) => a.load - b.load)[0];
    if (free && (free.load === 0 || shared.size >= most)) return free.load < perThread ? free : undefined;
    const made = start();
    shared.add(made);
    return made;
  };

  const everybody = () => [...shared, ...(alone ? [alone] : [])];
  const watch = watchThreads(everybody, Math.min(1_000, stuckMs / 2), () => {
    for (const thread of shared) if (thread.load === 0 && performance.now() - thread.idleSince > idleMs) void thread.end('nobody needs it');
  });

  /** Whoever waits, to whoever has room. */
  const hand = () => {
    if (isStopped) return;
    if (suspects.length > 0 && !alone) {
      alone = start();
      alone.give(suspects.shift()!);
    }
    for (let thread = waiting.length ? freeThread() : undefined; thread; thread = waiting.length ? freeThread() : undefined)
      thread.give(waiting.shift()!);
    watch.begin();
  };

  return {
    read: (org, reading) =>
      new Promise((settle) => {
        (apart.has(org) ? suspects : waiting).push({ org, reading, known: {}, dns: undefined, settle });
        hand();
      }),
    get threads() {
      return everybody().length;
    },
    get ended() {
      return ended;
    },
    async stop() {
      isStopped = true;
      watch.stop();
      await Promise.all(everybody().map((thread) => thread.end('we stop')));
    },
  };
}

/** While there are threads: those that do not answer are ended. */
function watchThreads(threads: () => Thread[], everyMs: number, look: () => void) {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const begin = () => {
    if (timer || isStopped || threads().length === 0) return;
    timer = setTimeout(() => {
      timer = undefined;
      for (const thread of threads()) thread.look();
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

/** Whose mail is read apart from the others', for a while. */
function keepApart(ms: number) {
  const until = new Map<string, number>();
  return {
    has: (org: string) => (until.get(org) ?? 0) > performance.now(),
    add(org: string) {
      if (until.size >= mostApart) until.clear();
      until.set(org, performance.now() + ms);
    },
  };
}
