import { availableParallelism } from 'node:os';
import type { Reading, ReadResult } from './protocol.ts';
import { makeTaskQueue, type TaskQueue } from './task-queue.ts';
import { ReaderThread, type Resolve, type Task, unreadResult } from './worker.ts';

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
const maxQuarantined = 10_000;

export function makeReader(options: ReaderOptions): Reader {
  const { stuckMs = 10_000, messageMs = 30_000, dnsMs = 10_000, idleMs = 60_000, quarantineMs = 600_000 } = options;
  const maxThreads = options.threads ?? Math.max(1, Math.min(2, availableParallelism() - 1));
  const waiting = makeTaskQueue();
  const suspects: Task[] = [];
  const shared = new Set<ReaderThread>();
  const quarantine = makeQuarantine(quarantineMs);
  let isolated: ReaderThread | undefined;
  let ended = 0;
  let isStopped = false;

  const start = () =>
    new ReaderThread({
      ...{ resolve: options.resolve, stuckMs, messageMs, dnsMs },
      finished: (thread) => {
        if (thread === isolated) void thread.end('it was for one message');
        else dispatch();
      },
      ended: (thread, unread, why) => {
        if (unread.length > 0) ended++;
        if (thread === isolated) {
          isolated = undefined;
          for (const task of unread) {
            quarantine.add(task.org);
            task.settle(unreadResult(task, why));
          }
        } else {
          shared.delete(thread);
          suspects.push(...unread);
        }
        dispatch();
      },
    });
  const allThreads = () => [...shared, ...(isolated ? [isolated] : [])];
  const watch = watchThreads(allThreads, Math.min(1_000, stuckMs / 2), () => {
    for (const thread of shared) if (thread.load === 0 && performance.now() - thread.idleSince > idleMs) void thread.end('it is idle');
  });

  /** Assigns waiting messages to free threads. */
  const dispatch = () => {
    if (isStopped) return;
    // Waiting mail of a quarantined organization could terminate the shared threads too.
    if (quarantine.hasEntries) suspects.push(...waiting.takeAll(quarantine.has));
    const suspect = isolated ? undefined : findMinimum(suspects, ({ org }) => quarantine.turnOf(org));
    if (suspect) {
      suspects.splice(suspects.indexOf(suspect), 1);
      quarantine.noteTurn(suspect.org);
      isolated = start();
      isolated.assign(suspect);
    }
    for (let org = findNext(waiting, shared, maxThreads); org !== undefined; org = findNext(waiting, shared, maxThreads)) {
      const thread = findFree(shared, maxThreads, start);
      if (!thread) break;
      thread.assign(waiting.take(org));
    }
    watch.begin();
  };

  return {
    read: (org, reading) =>
      new Promise((settle) => {
        const task: Task = { org, reading, known: {}, dnsDeadline: undefined, settle };
        if (quarantine.has(org)) suspects.push(task);
        else waiting.add(task);
        dispatch();
      }),
    get threads() {
      return allThreads().length;
    },
    get ended() {
      return ended;
    },
    async stop() {
      isStopped = true;
      watch.stop();
      await Promise.all(allThreads().map((thread) => thread.end('we stop')));
    },
  };
}

/** The organization with the fewest messages in flight comes first; ties go by arrival. */
function findNext(waiting: TaskQueue, shared: ReadonlySet<ReaderThread>, maxThreads: number): string | undefined {
  const reading = new Map<string, number>();
  for (const thread of shared) for (const org of thread.orgs) reading.set(org, (reading.get(org) ?? 0) + 1);
  return waiting.find((org) => reading.get(org) ?? 0, (maxThreads * maxPerThread) / 2);
}

/** The least loaded thread, or a new one. */
function findFree(shared: Set<ReaderThread>, maxThreads: number, start: () => ReaderThread): ReaderThread | undefined {
  const free = [...shared].sort((a, b) => a.load - b.load)[0];
  if (free && (free.load === 0 || shared.size >= maxThreads)) return free.load < maxPerThread ? free : undefined;
  const made = start();
  shared.add(made);
  return made;
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

/** Organizations in quarantine. Their messages are read one at a time in turn, after messages that only shared a terminated thread. */
function makeQuarantine(ms: number) {
  const known = new Map<string, { until: number; turn: number }>();
  let turns = 0;
  const has = (org: string) => (known.get(org)?.until ?? 0) > performance.now();
  return {
    has,
    get hasEntries() {
      return known.size > 0;
    },
    turnOf: (org: string) => (has(org) ? known.get(org)!.turn : 0),
    noteTurn(org: string) {
      if (has(org)) known.get(org)!.turn = ++turns;
    },
    add(org: string) {
      if (known.size >= maxQuarantined) known.clear();
      known.set(org, { until: performance.now() + ms, turn: ++turns });
    },
  };
}
