import { randomUUID } from 'node:crypto';
import type { Db } from '../db.ts';
import type { Logger } from '../log.ts';
import { makeNudge } from './nudge.ts';
import { type Claimed, type ClaimFrom, claimJobs, nextDueIn } from './store.ts';

export interface LaneOptions {
  lane: string;
  slots: number;
  db: Db;
  log: Logger;
  /** Kinds this worker knows, with their leases in seconds. */
  kinds: ReadonlyMap<string, number>;
  holding: () => number[];
  /** Begins a claimed job and settles when its slot is free again. */
  begin: (job: Claimed, claimedAt: number) => Promise<void>;
  /** Claimed, but not begun because the lane was stopped meanwhile. */
  giveBack: (jobs: Claimed[], claimedAt: number) => void;
}

export interface LaneLoop {
  readonly running: number;
  wake(): void;
  /** The clock has moved: anything may be due. */
  lookAtAll(): void;
  /** No more claims. Settles when the loop has ended; what was begun may still run. */
  stop(): Promise<void>;
  /** Settles when nothing runs. */
  idle(): Promise<void>;
}

const lookEveryMs = 1_000;
// Longer than a statement given up on can still take effect in a server that freezes and comes back, or than a lease lasts.
const forgetUnansweredMs = 120_000;
// Only far behind does a claim go on where the last one ended. Near the present, jobs that were due a moment earlier are still
// being committed, and skipping them would leave them to the look at everything, up to a second later.
const backlogMs = 5_000;
// A job is due from its insertion on, but there to be seen only after its transaction has committed.
const latelySeconds = 15;

/** Claims what is due for its free slots, sleeps until the next one is due, and never waits for another lane. */
export function startLane({ lane, slots, db, log, kinds, holding, begin, giveBack }: LaneOptions): LaneLoop {
  const { nudge, sleep } = makeNudge();
  const names = [...kinds.keys()];
  const running = new Set<Promise<void>>();
  let stopping = false;
  let away = false;
  let full = false;
  let unanswered: { lease: string; since: number }[] = [];
  let sawAllAt = -Infinity;
  let sawUpTo: Claimed | undefined;

  /** Once a second everything; in between what became due lately, or what follows the batch before. */
  const whereToLook = (): ClaimFrom => {
    if (performance.now() - sawAllAt >= lookEveryMs) return { oldest: true };
    return sawUpTo ? { after: sawUpTo } : { withinSeconds: latelySeconds };
  };

  const claim = async (limit: number): Promise<{ claimed: Claimed[]; nextMs: number }> => {
    const from = whereToLook();
    const lease = randomUUID();
    const since = performance.now();
    unanswered = unanswered.filter((u) => since - u.since < forgetUnansweredMs);
    try {
      // In this order: what falls due between the two is claimed, not overlooked by both.
      const [nextMs, claimed] = await db.read((tx) =>
        Promise.all([
          nextDueIn(tx, lane, names, lookEveryMs),
          claimJobs(tx, { lane, kinds, limit, lease, from, unanswered: unanswered.map((u) => u.lease), holding: holding() }),
        ]),
      );
      claimed.sort((a, b) => (a.run_at === b.run_at ? a.id - b.id : a.run_at < b.run_at ? -1 : 1));
      if ('oldest' in from) sawAllAt = since;
      const last = claimed.length === limit ? claimed.at(-1) : undefined;
      sawUpTo = last && last.late_ms > backlogMs ? last : undefined;
      return { claimed, nextMs };
    } catch (error) {
      unanswered.push({ lease, since });
      throw error;
    }
  };

  /** How long to sleep, 0 to go on at once. */
  const look = async (): Promise<number> => {
    const free = slots - running.size;
    full = free === 0;
    if (full) return lookEveryMs;
    const claimedAt = performance.now();
    const { claimed, nextMs } = await claim(free);
    if (stopping) giveBack(claimed, claimedAt);
    else for (const job of claimed) start(job, claimedAt);
    return stopping || claimed.length === free ? 0 : nextMs;
  };

  const start = (job: Claimed, claimedAt: number) => {
    const run = begin(job, claimedAt).finally(() => {
      running.delete(run);
      // Those that end in the same turn of the event loop are replaced by one claim.
      if (full) setImmediate(nudge);
    });
    running.add(run);
  };

  const loop = async () => {
    while (!stopping) {
      let ms = lookEveryMs;
      try {
        ms = await look();
        if (away) log.info({ lane }, 'jobs are claimed again');
        away = false;
      } catch (error) {
        if (!away) log.warn({ err: error, lane }, 'jobs cannot be claimed; trying again every second');
        away = true;
      }
      if (ms > 0) await sleep(ms);
    }
  };

  const ended = loop();
  return {
    get running() {
      return running.size;
    },
    wake: nudge,
    lookAtAll: () => {
      sawAllAt = -Infinity;
      nudge();
    },
    stop: () => {
      stopping = true;
      nudge();
      return ended;
    },
    idle: async () => {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
