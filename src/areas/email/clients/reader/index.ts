import { availableParallelism } from 'node:os';
import { type Line, makeLine } from './line.ts';
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

/** Read by one thread at a time; while one waits for the DNS, others go on. Of one organization half of them: whose names never resolve waits alone. */
const perThread = 16;
const mostApart = 10_000;

export function makeReader(options: ReaderOptions): Reader {
  const { stuckMs = 10_000, messageMs = 30_000, dnsMs = 10_000, idleMs = 60_000, apartMs = 600_000 } = options;
  const most = options.threads ?? Math.max(1, Math.min(2, availableParallelism() - 1));
  const waiting = makeLine();
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
  const everybody = () => [...shared, ...(alone ? [alone] : [])];
  const watch = watchThreads(everybody, Math.min(1_000, stuckMs / 2), () => {
    for (const thread of shared) if (thread.load === 0 && performance.now() - thread.idleSince > idleMs) void thread.end('nobody needs it');
  });

  /** Whoever waits, to whoever has room. */
  const hand = () => {
    if (isStopped) return;
    // Those who waited when somebody like them ended a thread would end the next ones.
    if (apart.isAnybody) suspects.push(...waiting.takeAll(apart.has));
    const suspect = alone ? undefined : findLeast(suspects, ({ org }) => apart.turnOf(org));
    if (suspect) {
      suspects.splice(suspects.indexOf(suspect), 1);
      apart.hadTurn(suspect.org);
      alone = start();
      alone.give(suspect);
    }
    for (let org = findNext(waiting, shared, most); org !== undefined; org = findNext(waiting, shared, most)) {
      const thread = findFree(shared, most, start);
      if (!thread) break;
      thread.give(waiting.take(org));
    }
    watch.begin();
  };

  return {
    read: (org, reading) =>
      new Promise((settle) => {
        const task: Task = { org, reading, known: {}, dns: undefined, settle };
        if (apart.has(org)) suspects.push(task);
        else waiting.add(task);
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

/** Of whom the fewest are being read comes first; in the order in which they came otherwise. */
function findNext(waiting: Line, shared: ReadonlySet<Thread>, most: number): string | undefined {
  const reading = new Map<string, number>();
  for (const thread of shared) for (const org of thread.orgs) reading.set(org, (reading.get(org) ?? 0) + 1);
  return waiting.find((org) => reading.get(org) ?? 0, (most * perThread) / 2);
}

/** A thread with room, perhaps a new one. */
function findFree(shared: Set<Thread>, most: number, start: () => Thread): Thread | undefined {
  const free = [...shared].sort((a, b) => a.load - b.load)[0];
  if (free && (free.load === 0 || shared.size >= most)) return free.load < perThread ? free : undefined;
  const made = start();
  shared.add(made);
  return made;
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

/** The first of those with the least. */
function findLeast<T>(all: readonly T[], measure: (one: T) => number): T | undefined {
  let [found, least]: [T | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
  for (const one of all) {
    const measured = measure(one);
    if (measured < least) [found, least] = [one, measured];
  }
  return found;
}

/** Whose mail is read apart from the others', for a while: one by one, in turn, and after whoever only happened to be beside it. */
function keepApart(ms: number) {
  const known = new Map<string, { until: number; turn: number }>();
  let turns = 0;
  const has = (org: string) => (known.get(org)?.until ?? 0) > performance.now();
  return {
    has,
    get isAnybody() {
      return known.size > 0;
    },
    turnOf: (org: string) => (has(org) ? known.get(org)!.turn : 0),
    hadTurn(org: string) {
      if (has(org)) known.get(org)!.turn = ++turns;
    },
    add(org: string) {
      if (known.size >= mostApart) known.clear();
      known.set(org, { until: performance.now() + ms, turn: ++turns });
    },
  };
}
