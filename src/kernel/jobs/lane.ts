import { randomUUID } from 'node:crypto';
import type { Db } from '../db/index.ts';
import type { Logger } from '../log.ts';
import { makeNudge, type Nudge } from './nudge.ts';
import { type ClaimedJob, type ClaimFrom, claimJobs, nextDueIn } from './store.ts';

export interface LaneOptions {
  lane: string;
  slots: number;
  db: Db;
  log: Logger;
  /** Kinds this worker knows, with their leases in seconds. */
  kinds: ReadonlyMap<string, number>;
  /** Jobs that this process has leased already. */
  leasedHere: () => number[];
  /** Begins a claimed job and settles when its slot is free again. */
  begin: (job: ClaimedJob, claimedAt: number) => Promise<void>;
  /** Claimed, but not begun because the lane was stopped meanwhile. */
  giveBack: (jobs: ClaimedJob[], claimedAt: number) => void;
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

interface LaneState extends LaneOptions {
  names: string[];
  rest: Nudge;
  running: Set<Promise<void>>;
  stopping: boolean;
  /** The last claim failed, and the log says so already. */
  away: boolean;
  /** No slot was free at the last look: the next one that becomes free is worth a look. */
  full: boolean;
  /** Claims whose answer never came: what they took is under a lease that only we know. */
  unanswered: { lease: string; since: number }[];
  sawAllAt: number;
  /** The last job of a full batch that is far behind: the next claim goes on after it. */
  sawUpTo: ClaimedJob | undefined;
}

/** Claims what is due for its free slots, sleeps until the next one is due, and never waits for another lane. */
export function startLane(options: LaneOptions): LaneLoop {
  const lane: LaneState = {
    ...options,
    names: [...options.kinds.keys()],
    rest: makeNudge(),
    running: new Set(),
    stopping: false,
    away: false,
    full: false,
    unanswered: [],
    sawAllAt: -Infinity,
    sawUpTo: undefined,
  };
  const ended = lookUntilStopped(lane);
  return {
    get running() {
      return lane.running.size;
    },
    wake: lane.rest.nudge,
    lookAtAll: () => {
      lane.sawAllAt = -Infinity;
      lane.rest.nudge();
    },
    stop: () => {
      lane.stopping = true;
      lane.rest.nudge();
      return ended;
    },
    idle: async () => {
      while (lane.running.size > 0) await Promise.all(lane.running);
    },
  };
}

async function lookUntilStopped(lane: LaneState): Promise<void> {
  while (!lane.stopping) {
    let ms = lookEveryMs;
    try {
      ms = await claimAndBegin(lane);
      if (lane.away) lane.log.info({ lane: lane.lane }, 'jobs are claimed again');
      lane.away = false;
    } catch (error) {
      if (!lane.away) lane.log.warn({ err: error, lane: lane.lane }, 'jobs cannot be claimed; trying again every second');
      lane.away = true;
    }
    if (ms > 0) await lane.rest.sleep(ms);
  }
}

/** Returns how long to sleep, 0 to go on at once. */
async function claimAndBegin(lane: LaneState): Promise<number> {
  const free = lane.slots - lane.running.size;
  lane.full = free === 0;
  if (lane.full) return lookEveryMs;
  const claimedAt = performance.now();
  const { claimed, nextMs } = await claimDue(lane, free);
  if (lane.stopping) lane.giveBack(claimed, claimedAt);
  else for (const job of claimed) beginJob(lane, job, claimedAt);
  return lane.stopping || claimed.length === free ? 0 : nextMs;
}

async function claimDue(lane: LaneState, limit: number): Promise<{ claimed: ClaimedJob[]; nextMs: number }> {
  const from = whereToLook(lane);
  const lease = randomUUID();
  const since = performance.now();
  lane.unanswered = lane.unanswered.filter((u) => since - u.since < forgetUnansweredMs);
  try {
    const [nextMs, claimed] = await askForJobs(lane, limit, lease, from);
    claimed.sort((a, b) => (a.run_at === b.run_at ? a.id - b.id : a.run_at < b.run_at ? -1 : 1));
    if ('oldest' in from) lane.sawAllAt = since;
    const last = claimed.length === limit ? claimed.at(-1) : undefined;
    lane.sawUpTo = last && last.late_ms > backlogMs ? last : undefined;
    return { claimed, nextMs };
  } catch (error) {
    lane.unanswered.push({ lease, since });
    throw error;
  }
}

/** Once a second everything; in between what became due lately, or what follows the batch before. */
function whereToLook({ sawAllAt, sawUpTo }: LaneState): ClaimFrom {
  if (performance.now() - sawAllAt >= lookEveryMs) return { oldest: true };
  return sawUpTo ? { after: sawUpTo } : { withinSeconds: latelySeconds };
}

/** The two statements go in this order: what falls due between them is claimed, not overlooked by both. */
const askForJobs = ({ db, lane, kinds, names, unanswered, leasedHere }: LaneState, limit: number, lease: string, from: ClaimFrom) =>
  db.read((tx) =>
    Promise.all([
      nextDueIn(tx, lane, names, lookEveryMs),
      claimJobs(tx, { lane, kinds, limit, lease, from, unanswered: unanswered.map((u) => u.lease), leasedHere: leasedHere() }),
    ]),
  );

function beginJob(lane: LaneState, job: ClaimedJob, claimedAt: number): void {
  const run = lane.begin(job, claimedAt).finally(() => {
    lane.running.delete(run);
    // Those that end in the same turn of the event loop are replaced by one claim.
    if (lane.full) setImmediate(lane.rest.nudge);
  });
  lane.running.add(run);
}
