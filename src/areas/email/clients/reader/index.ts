import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type FromThread, type Reading, type ReadMail, type ReadResult, type ToThread, unreadMail } from './protocol.ts';

export type { Attachment, Authentication, Reading, ReadMail, ReadResult } from './protocol.ts';
export { unreadMail } from './protocol.ts';

/** A question to the DNS: its records, or the code of Node's resolver. */
export type Resolve = (name: string, rrtype: string, signal: AbortSignal) => Promise<{ records: unknown[] } | { code: string }>;

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
const memory = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
/** Until it has loaded what it reads with, on however busy a machine. */
const startMs = 30_000;
const program = new URL(`./thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

const tooLong = 'reading it took too long';
const tooMuch = 'reading it took more memory than there is for one message';
const vanished = 'the thread that read it ended';

interface Task {
  org: string;
  reading: Reading;
  known: Partial<ReadMail>;
  dns: AbortSignal | undefined;
  settle(result: ReadResult): void;
}

interface Thread {
  worker: Worker;
  tasks: Map<number, { task: Task; since: number }>;
  /** When it last said anything; undefined while it starts. */
  heardAt: number | undefined;
  startedAt: number;
  readyAt: number;
  idleSince: number;
  isOver: boolean;
}

export function makeReader(options: ReaderOptions): Reader {
  const { stuckMs = 10_000, messageMs = 30_000, dnsMs = 10_000, idleMs = 60_000, apartMs = 600_000 } = options;
  const most = options.threads ?? Math.max(1, Math.min(2, availableParallelism() - 1));
  const waiting: Task[] = [];
  const suspects: Task[] = [];
  const threads = new Set<Thread>();
  const apart = new Map<string, number>();
  let alone: Thread | undefined;
  let ids = 0;
  let ended = 0;
  let isStopped = false;

  const start = (): Thread => {
    const worker = new Worker(program, { resourceLimits: memory, env: {}, execArgv: [] });
    const now = performance.now();
    const thread: Thread = {
      worker,
      tasks: new Map(),
      heardAt: undefined,
      startedAt: now,
      readyAt: now + startMs,
      idleSince: now,
      isOver: false,
    };
    worker.unref();
    worker.on('message', (message: FromThread) => hear(thread, message));
    worker.on('error', (error: NodeJS.ErrnoException) => end(thread, error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuch : vanished));
    worker.on('exit', () => end(thread, vanished));
    threads.add(thread);
    return thread;
  };

  const give = (thread: Thread, task: Task) => {
    const id = ++ids;
    const now = performance.now();
    if (thread.tasks.size === 0 && thread.heardAt !== undefined) thread.heardAt = now;
    thread.tasks.set(id, { task, since: now });
    // A copy: it may have to be read again.
    const raw = new Uint8Array(task.reading.raw);
    thread.worker.postMessage({ type: 'read', id, reading: { ...task.reading, raw } } satisfies ToThread, [raw.buffer]);
    watch();
  };

  const finish = (thread: Thread, id: number, result: ReadResult) => {
    const held = thread.tasks.get(id);
    thread.tasks.delete(id);
    thread.idleSince = performance.now();
    held?.task.settle(result);
    if (thread === alone) end(thread, 'it was for one message');
    else hand();
  };

  const hear = (thread: Thread, message: FromThread) => {
    if (thread.heardAt === undefined) thread.readyAt = performance.now();
    thread.heardAt = performance.now();
    if (message.type === 'pong') return;
    if (message.type === 'dns') return void answer(thread, message);
    const task = thread.tasks.get(message.id)?.task;
    if (!task) return;
    if (message.type === 'part') task.known = message.part;
    else if (message.type === 'done') finish(thread, message.id, message.result);
    else finish(thread, message.id, giveUp(task, message.why));
  };

  const answer = async (thread: Thread, { id, reading, name, rrtype }: Extract<FromThread, { type: 'dns' }>) => {
    const task = thread.tasks.get(reading)?.task;
    if (!task) return;
    // All its questions together have so long: a resolver that is away holds up no message for longer.
    task.dns ??= AbortSignal.timeout(dnsMs);
    const given = await options.resolve(name, rrtype, task.dns).catch(() => ({ code: 'ETIMEOUT' }));
    if (!thread.isOver) thread.worker.postMessage({ type: 'dns', id, answer: given } satisfies ToThread);
  };

  /** The end of a thread: innocents are read again. */
  const end = (thread: Thread, why: string) => {
    if (thread.isOver) return;
    thread.isOver = true;
    threads.delete(thread);
    void thread.worker.terminate();
    const held = [...thread.tasks.values()].map(({ task }) => task);
    thread.tasks.clear();
    if (held.length > 0) ended++;
    if (thread === alone) {
      alone = undefined;
      for (const task of held) {
        if (apart.size > 10_000) apart.clear();
        apart.set(task.org, performance.now() + apartMs);
        task.settle(giveUp(task, why));
      }
    } else suspects.push(...held);
    if (!isStopped) hand();
  };

  const isStuck = ({ heardAt, startedAt }: Thread, now: number) =>
    heardAt === undefined ? now - startedAt > startMs : now - heardAt > stuckMs;
  const isApart = (org: string) => (apart.get(org) ?? 0) > performance.now();

  /** Whoever waits, to whoever has room. */
  const hand = () => {
    if (isStopped) return;
    while (suspects.length > 0 && !alone) {
      alone = start();
      give(alone, suspects.shift()!);
    }
    while (waiting.length > 0) {
      const shared = [...threads].filter((thread) => thread !== alone);
      const free = shared.sort((a, b) => a.tasks.size - b.tasks.size)[0];
      const isNew = !free || (free.tasks.size > 0 && shared.length < most);
      if (!isNew && free.tasks.size >= perThread) return;
      give(isNew ? start() : free, waiting.shift()!);
    }
  };

  let timer: NodeJS.Timeout | undefined;
  /** Once a second, while there are threads: those that do not answer are ended, and so are those that nobody needs. */
  const watch = () => {
    if (timer || isStopped) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        const now = performance.now();
        for (const thread of threads) {
          const isLate = [...thread.tasks.values()].some(({ since }) => now - Math.max(since, thread.readyAt) > messageMs);
          if (thread.tasks.size === 0) {
            if (now - thread.idleSince > idleMs) end(thread, 'nobody needs it');
          } else if (isStuck(thread, now) || isLate) end(thread, tooLong);
          else thread.worker.postMessage({ type: 'ping', id: 0 } satisfies ToThread);
        }
        if (threads.size > 0) watch();
      },
      Math.min(1_000, stuckMs / 2),
    ).unref();
  };

  return {
    read: (org, reading) =>
      new Promise((settle) => {
        const task: Task = { org, reading, known: {}, dns: undefined, settle };
        (isApart(org) ? suspects : waiting).push(task);
        hand();
      }),
    get threads() {
      return threads.size;
    },
    get ended() {
      return ended;
    },
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      const all = [...threads];
      await Promise.all(all.map(({ worker }) => worker.terminate()));
    },
  };
}

const giveUp = (task: Task, why: string): ReadResult =>
  task.reading.kind === 'report'
    ? { kind: 'report', report: { kind: 'other', recipients: [] } }
    : { kind: 'mail', mail: unreadMail(why, task.known) };
