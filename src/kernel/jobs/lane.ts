import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Slot } from '../db/index.ts';
import { type LaneOptions, type LaneState, makeLaneState } from './lane-state.ts';
import { mostOrgs } from './lease.ts';
import { type ClaimedJob, claimJobs, claimJobsFairly, jobOrgsAfter, nextDueIn, orgKeyOf } from './store.ts';

export interface LaneLoop {
  readonly running: number;
  /** By organization. */
  readonly runningOf: ReadonlyMap<string, number>;
  /** A slot for a job that a transaction of this process is about to insert. Undefined: no slot for it, or other jobs wait already. */
  takeSlot(kind: string, org: string | undefined): Slot | undefined;
  wake(): void;
  /** The clock has moved: any job may be due. */
  lookAtAll(): void;
  /** No more claims. Settles when the loop has ended; started jobs may still run. */
  stop(): Promise<void>;
  /** Settles when no job runs. */
  idle(): Promise<void>;
}

const lookEveryMs = 1_000;
const gatherMs = 15;
// Longer than a cancelled statement can still take effect in a server that freezes and comes back, and longer than a lease.
const forgetUnansweredMs = 120_000;
// A claim continues where the last one ended only far behind schedule. Near the present, jobs that were due a moment earlier are still
// being committed. Skipping them would leave them to the full poll, up to a second later.
const backlogMs = 5_000;
// A job is due from its insertion on, but visible only after its transaction has committed.
const latelySeconds = 15;
// A lone organization may not stay alone, and a wake may be lost.
const seeWhoEveryMs = 100;

export function startLane(options: LaneOptions): LaneLoop {
  const lane = makeLaneState(options);
  const ended = lookUntilStopped(lane);
  return {
    get running() {
      return lane.running.size;
    },
    runningOf: lane.runningOf,
    takeSlot: (kind, org) => takeSlot(lane, kind, org),
    wake: () => hearWake(lane),
    lookAtAll: () => {
      lane.sawAllAt = -Infinity;
      expectJobs(lane);
      lane.rest.wake();
    },
    stop: () => {
      lane.stopping = true;
      clearTimeout(lane.sharing);
      clearTimeout(lane.gathering);
      lane.rest.wake();
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
    lane.looking = true;
    try {
      ms = await claimAndBegin(lane);
      if (lane.away) lane.log.info({ lane: lane.lane }, 'jobs are claimed again');
      lane.away = false;
    } catch (error) {
      if (!lane.away) lane.log.warn({ err: error, lane: lane.lane }, 'jobs cannot be claimed; trying again every second');
      lane.away = true;
    }
    lane.looking = false;
    lane.asked = 0;
    lane.lookedAt = performance.now();
    if (lane.woken) hearWake(lane);
    lane.woken = false;
    if (ms > 0) await lane.rest.sleep(lane.tookSome ? Math.max(ms, lane.shareMs) : ms);
    else await nextTurn(); // short jobs have ended by then, and the same claim fills their slots
  }
}

/** In a burst every transaction wakes the lane. A claim for each would cost the database as much as the jobs do. */
function hearWake(lane: LaneState): void {
  lane.sawWhoAt = -Infinity;
  expectJobs(lane);
  if (lane.looking) {
    lane.woken = true; // its job may have been committed after the claim in flight took its snapshot
    return;
  }
  const ms = lane.lookedAt + lane.shareMs - performance.now();
  if (ms <= 0) lane.rest.wake();
  else if (!lane.stopping) lane.sharing ??= setTimeout(answerWakes, ms, lane);
}

function expectJobs(lane: LaneState): void {
  lane.isEmpty = false;
  lane.wakes++;
}

function answerWakes(lane: LaneState): void {
  lane.sharing = undefined;
  lane.rest.wake();
}

/** Returns how long to sleep, 0 to poll at once. */
async function claimAndBegin(lane: LaneState): Promise<number> {
  if (lane.isHeld?.()) return lookEveryMs;
  const { free, room } = roomIn(lane);
  lane.full = true; // a job that ends during the query is worth another poll
  if (free === 0) {
    lane.crowded = true;
    return lookEveryMs;
  }
  if (lane.isEmpty && (await isStillEmpty(lane))) {
    lane.full = false;
    lane.crowded = false;
    return lookEveryMs;
  }
  const { wakes } = lane;
  const order = orderOf(lane, room);
  const limit = { oldest: Math.min(free, Math.ceil(room / 2)), alone: Math.min(free, room), turns: free }[order];
  const claimedAt = performance.now();
  const { claimed, nextMs, orgs } = await claimDue(lane, limit, order);
  lane.tookSome = claimed.length > 0;
  lane.isEmpty = !claimed.length && !lane.running.size && nextMs >= lookEveryMs && lane.wakes === wakes && lane.usedSince !== wakes;
  lane.behind = isBehind(lane, order, claimed, claimed.length === limit, orgs);
  if (lane.stopping) lane.giveBack(claimed, claimedAt);
  else for (const job of claimed) beginJob(lane, job, claimedAt);
  const left = roomIn(lane);
  lane.full = left.free === 0 || left.room <= 0;
  lane.crowded = lane.full || lane.behind;
  // A lone organization at its limit waits for its own jobs; each that ends is worth a poll.
  return lane.stopping || (lane.behind && !(lane.isAlone && left.room <= 0)) ? 0 : nextMs;
}

/** Most lanes of most servers are empty, and this check costs a third of a claim. */
async function isStillEmpty(lane: LaneState): Promise<boolean> {
  const { wakes } = lane;
  const since = performance.now();
  const isUsed = (await lane.db.read((tx) => jobOrgsAfter(tx, lane.lane, ''))).length > 0;
  if (isUsed) lane.usedSince = wakes;
  else lane.sawAllAt = since;
  return !isUsed && lane.wakes === wakes;
}

/**
 * `oldest`: oldest first, and only for half of the free slots, since jobs leased at insert need slots too. `turns`: by organizations in
 * turn, where others may wait. `alone`: oldest first up to the limit of the only organization, which costs the database less.
 */
type Order = 'oldest' | 'alone' | 'turns';

function orderOf({ crowded, isAlone }: LaneState, room: number): Order {
  if (!crowded && room > 0) return 'oldest';
  return isAlone && room > 0 ? 'alone' : 'turns';
}

/** Whether to poll at once: more jobs may be due, for organizations that have a slot free. */
function isBehind(lane: LaneState, order: Order, claimed: readonly ClaimedJob[], isFull: boolean, orgs: readonly string[]): boolean {
  const saysAll = order === 'alone' || (order === 'turns' && lane.afterOrg === '');
  lane.isAlone = saysAll && orgs.length <= 1;
  if (order === 'turns') return passTurn(lane, claimed, isFull, orgs);
  return isFull || (order === 'alone' && !lane.isAlone);
}

/**
 * Advances the turn, and returns whether to poll at once: while claims are full, and then until every organization was visited once more.
 * One claim does not visit all, and an organization that came before the start of this walk was not visited by it.
 */
function passTurn(lane: LaneState, claimed: readonly ClaimedJob[], isFull: boolean, orgs: readonly string[]): boolean {
  const reached = isFull ? Math.max(...claimed.map((job) => job.place)) : orgs.length;
  const isEnd = reached === orgs.length && orgs.length < mostOrgs;
  const askedAll = lane.asksAll && isEnd && !isFull;
  lane.afterOrg = isEnd ? '' : orgs[reached - 1]!;
  lane.asksAll = isEnd || (lane.asksAll && !isFull);
  return !askedAll;
}

/** Free slots, and how many of them any organization may have. */
const roomIn = ({ slots, perOrg, running, runningOf }: LaneState) => ({
  free: slots - running.size,
  room: perOrg - Math.max(0, ...runningOf.values()),
});

async function claimDue(lane: LaneState, limit: number, order: Order): Promise<Answered> {
  const lease = randomUUID();
  const since = performance.now();
  const looksAtAll = since - lane.sawAllAt >= lookEveryMs;
  lane.unanswered = lane.unanswered.filter((u) => since - u.since < forgetUnansweredMs);
  lane.asked = limit;
  try {
    const seesWho = order === 'turns' || (order === 'alone' && since - lane.sawWhoAt >= seeWhoEveryMs);
    if (seesWho) lane.sawWhoAt = since;
    const { nextMs, claimed, orgs } = await askForJobs(lane, { limit, lease, looksAtAll, order, seesWho });
    claimed.sort((a, b) => (a.run_at === b.run_at ? a.id - b.id : a.run_at < b.run_at ? -1 : 1));
    if (looksAtAll) lane.sawAllAt = since;
    const late = claimed.filter((job) => job.late_ms > backlogMs);
    const isFull = claimed.length === limit;
    lane.sawUpTo = new Map(isFull ? late.map((job) => [orgKeyOf(job), job]) : []);
    // By turns, an organization's jobs may be left because it is at its limit: that says nothing about the jobs that remain.
    if (order === 'turns') lane.goOn = late.length || lane.goOn ? { oldest: true } : undefined;
    else lane.goOn = isFull && late.length ? { after: late.at(-1)! } : undefined;
    return { claimed, nextMs, orgs };
  } catch (error) {
    lane.unanswered.push({ lease, since });
    throw error;
  }
}

interface Asked {
  limit: number;
  lease: string;
  looksAtAll: boolean;
  order: Order;
  seesWho: boolean;
}

interface Answered {
  claimed: ClaimedJob[];
  nextMs: number;
  /** The organizations of this turn, in order. With `alone`: those that have jobs. Empty when all were queried at once. */
  orgs: string[];
}

/** The next due time is read before the claim: a job that falls due between the two is claimed, not missed by both. */
const askForJobs = (lane: LaneState, { limit, lease, looksAtAll, order, seesWho }: Asked): Promise<Answered> => {
  const { kinds, perOrg, runningOf: running, sawUpTo } = lane;
  const wanted = { lane: lane.lane, kinds, limit, lease, unanswered: lane.unanswered.map((u) => u.lease), leasedHere: lane.leasedHere() };
  return lane.db.read(async (tx) => {
    const turns = order === 'turns' ? await jobOrgsAfter(tx, lane.lane, lane.afterOrg) : [];
    const [nextMs, orgs, claimed] = await Promise.all([
      nextDueIn(tx, lane.lane, lane.names, lookEveryMs),
      order === 'alone' && seesWho ? jobOrgsAfter(tx, lane.lane, '') : turns,
      order === 'turns'
        ? claimJobsFairly(tx, { ...wanted, orgs: turns, perOrg, running, seen: looksAtAll ? new Map() : sawUpTo })
        : claimJobs(tx, { ...wanted, from: looksAtAll ? { oldest: true } : (lane.goOn ?? { withinSeconds: latelySeconds }) }),
    ]);
    return { nextMs, claimed, orgs };
  });
};

/** Jobs that end within a moment are replaced by one claim, since a claim costs the database as much as many a job does. */
function replaceSoon(lane: LaneState): void {
  if (lane.stopping) return;
  lane.ended++;
  lane.gathering ??= setTimeout(replaceNow, gatherMs, lane);
  if (lane.ended === Math.ceil(lane.perOrg / 4)) setImmediate(replaceNow, lane);
}

function replaceNow(lane: LaneState): void {
  clearTimeout(lane.gathering);
  lane.gathering = undefined;
  lane.ended = 0;
  lane.rest.wake();
}

/** The limit of lost leases that are queried by name; jobs beyond it wait until their lease lapses. */
const mostUnanswered = 500;

function takeSlot(lane: LaneState, kind: string, org: string | undefined): Slot | undefined {
  const leaseSeconds = lane.kinds.get(kind);
  const whose = orgKeyOf({ org_id: org ?? null });
  const has = lane.runningOf.get(whose) ?? 0;
  const isFree = roomIn(lane).free > lane.asked && has + lane.asked < lane.perOrg;
  if (leaseSeconds === undefined || lane.stopping || lane.crowded || !isFree || lane.isHeld?.()) return undefined;
  const lease = randomUUID();
  const takenAt = performance.now();
  const { promise, resolve } = Promise.withResolvers<void>();
  useSlot(lane, whose, promise);
  return {
    lease,
    leaseSeconds,
    begin: ({ id, key, payload, requestId, runAt }) => {
      const born = { id, kind, key, payload, org_id: org ?? null, request_id: requestId ?? null, attempts: 1, lease, late_ms: 0, place: 0 };
      const job = { ...born, run_at: runAt };
      if (!lane.stopping) return resolve(lane.apart(() => lane.begin(job, takenAt)));
      lane.giveBack([job], takenAt);
      resolve();
    },
    release: (isKnown = true) => {
      if (!isKnown && lane.unanswered.length < mostUnanswered) lane.unanswered.push({ lease, since: takenAt });
      resolve();
    },
  };
}

const beginJob = (lane: LaneState, job: ClaimedJob, claimedAt: number): void => useSlot(lane, orgKeyOf(job), lane.begin(job, claimedAt));

/** Counts the slot as used until the promise settles. */
function useSlot(lane: LaneState, org: string, use: Promise<void>): void {
  lane.runningOf.set(org, (lane.runningOf.get(org) ?? 0) + 1);
  const used = use.finally(() => {
    lane.running.delete(used);
    const left = lane.runningOf.get(org)! - 1;
    if (left > 0) lane.runningOf.set(org, left);
    else lane.runningOf.delete(org);
    if (lane.full) replaceSoon(lane);
  });
  lane.running.add(used);
}
