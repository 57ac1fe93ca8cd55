import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Slot } from '../db/index.ts';
import { type LaneOptions, type LaneState, makeLaneState } from './lane-state.ts';
import { maxOrgsPerWalk } from './lease.ts';
import { type ClaimedJob, claimJobs, claimJobsFairly, jobOrgsAfter, nextDueIn, orgKeyOf } from './store.ts';

export interface LaneLoop {
  readonly running: number;
  /** By organization. */
  readonly runningByOrg: ReadonlyMap<string, number>;
  /** A slot for a job that a transaction of this process is about to insert. Undefined: no slot for it, or other jobs wait already. */
  takeSlot(kind: string, org: string | undefined): Slot | undefined;
  wake(): void;
  /** The clock has moved: any job may be due. */
  pollAll(): void;
  /** No more claims. Settles when the loop has ended; started jobs may still run. */
  stop(): Promise<void>;
  /** Settles when no job runs. */
  idle(): Promise<void>;
}

const pollMs = 1_000;
const refillDelayMs = 15;
// Longer than a cancelled statement can still take effect in a server that freezes and comes back, and longer than a lease.
const forgetLostLeaseMs = 120_000;
// A claim continues where the last one ended only far behind schedule. Near the present, jobs that were due a moment earlier are still
// being committed. Skipping them would leave them to the full poll, up to a second later.
const backlogMs = 5_000;
// A job is due from its insertion on, but visible only after its transaction has committed.
const recentSeconds = 15;
// A lone organization may not stay alone, and a wake may be lost.
const listOrgsEveryMs = 100;

export function startLane(options: LaneOptions): LaneLoop {
  const lane = makeLaneState(options);
  const ended = pollUntilStopped(lane);
  return {
    get running() {
      return lane.running.size;
    },
    runningByOrg: lane.runningByOrg,
    takeSlot: (kind, org) => takeSlot(lane, kind, org),
    wake: () => onWake(lane),
    pollAll: () => {
      lane.fullPollAt = -Infinity;
      expectJobs(lane);
      lane.sleeper.wake();
    },
    stop: () => {
      lane.isStopping = true;
      clearTimeout(lane.wakeTimer);
      clearTimeout(lane.refillTimer);
      lane.sleeper.wake();
      return ended;
    },
    idle: async () => {
      while (lane.running.size > 0) await Promise.all(lane.running);
    },
  };
}

async function pollUntilStopped(lane: LaneState): Promise<void> {
  while (!lane.isStopping) {
    let ms = pollMs;
    lane.isClaiming = true;
    try {
      ms = await claimAndStart(lane);
      if (lane.isFailing) lane.log.info({ lane: lane.lane }, 'jobs are claimed again');
      lane.isFailing = false;
    } catch (error) {
      if (!lane.isFailing) lane.log.warn({ err: error, lane: lane.lane }, 'jobs cannot be claimed; trying again every second');
      lane.isFailing = true;
    }
    lane.isClaiming = false;
    lane.claimLimit = 0;
    lane.claimEndedAt = performance.now();
    if (lane.wokenMeanwhile) onWake(lane);
    lane.wokenMeanwhile = false;
    if (ms > 0) await lane.sleeper.sleep(lane.lastClaimTook ? Math.max(ms, lane.coalesceMs) : ms);
    else await nextTurn(); // short jobs have ended by then, and the same claim fills their slots
  }
}

/** In a burst every transaction wakes the lane. A claim for each would cost the database as much as the jobs do. */
function onWake(lane: LaneState): void {
  lane.orgsListedAt = -Infinity;
  expectJobs(lane);
  if (lane.isClaiming) {
    lane.wokenMeanwhile = true; // its job may have been committed after the claim in flight took its snapshot
    return;
  }
  const ms = lane.claimEndedAt + lane.coalesceMs - performance.now();
  if (ms <= 0) lane.sleeper.wake();
  else if (!lane.isStopping) lane.wakeTimer ??= setTimeout(claimForWakes, ms, lane);
}

function expectJobs(lane: LaneState): void {
  lane.isEmpty = false;
  lane.wakeCount++;
}

function claimForWakes(lane: LaneState): void {
  lane.wakeTimer = undefined;
  lane.sleeper.wake();
}

/** Returns how long to sleep, 0 to poll at once. */
async function claimAndStart(lane: LaneState): Promise<number> {
  if (lane.isHeld?.()) return pollMs;
  const { free, room } = freeSlots(lane);
  lane.isFull = true; // a job that ends during the query is worth another poll
  if (free === 0) {
    lane.isContended = true;
    return pollMs;
  }
  if (lane.isEmpty && (await isStillEmpty(lane))) {
    lane.isFull = false;
    lane.isContended = false;
    return pollMs;
  }
  const { wakeCount } = lane;
  const order = orderOf(lane, room);
  const limit = { oldest: Math.min(free, Math.ceil(room / 2)), alone: Math.min(free, room), turns: free }[order];
  const claimedAt = performance.now();
  const { claimed, nextMs, orgs } = await claimDue(lane, limit, order);
  lane.lastClaimTook = claimed.length > 0;
  lane.isEmpty = !claimed.length && !lane.running.size && nextMs >= pollMs && lane.wakeCount === wakeCount && lane.usedAtWake !== wakeCount;
  lane.isBehind = updateBehind(lane, order, claimed, claimed.length === limit, orgs);
  if (lane.isStopping) lane.release(claimed, claimedAt);
  else for (const job of claimed) startJob(lane, job, claimedAt);
  const left = freeSlots(lane);
  lane.isFull = left.free === 0 || left.room <= 0;
  lane.isContended = lane.isFull || lane.isBehind;
  // A lone organization at its limit waits for its own jobs; each that ends is worth a poll.
  return lane.isStopping || (lane.isBehind && !(lane.isAlone && left.room <= 0)) ? 0 : nextMs;
}

/** Most lanes of most servers are empty, and this check costs a third of a claim. */
async function isStillEmpty(lane: LaneState): Promise<boolean> {
  const { wakeCount } = lane;
  const since = performance.now();
  const isUsed = (await lane.db.read((tx) => jobOrgsAfter(tx, lane.lane, ''))).length > 0;
  if (isUsed) lane.usedAtWake = wakeCount;
  else lane.fullPollAt = since;
  return !isUsed && lane.wakeCount === wakeCount;
}

/**
 * `oldest`: oldest first, and only for half of the free slots, since jobs leased at insert need slots too. `turns`: by organizations in
 * turn, where others may wait. `alone`: oldest first up to the limit of the only organization, which costs the database less.
 */
type Order = 'oldest' | 'alone' | 'turns';

function orderOf({ isContended, isAlone }: LaneState, room: number): Order {
  if (!isContended && room > 0) return 'oldest';
  return isAlone && room > 0 ? 'alone' : 'turns';
}

/** Whether to poll at once: more jobs may be due, for organizations that have a slot free. */
function updateBehind(lane: LaneState, order: Order, claimed: readonly ClaimedJob[], isFull: boolean, orgs: readonly string[]): boolean {
  const saysAll = order === 'alone' || (order === 'turns' && lane.afterOrg === '');
  lane.isAlone = saysAll && orgs.length <= 1;
  if (order === 'turns') return advanceTurn(lane, claimed, isFull, orgs);
  return isFull || (order === 'alone' && !lane.isAlone);
}

/**
 * Advances the turn, and returns whether to poll at once: while claims are full, and then until every organization was visited once more.
 * One claim does not visit all, and an organization that came before the start of this walk was not visited by it.
 */
function advanceTurn(lane: LaneState, claimed: readonly ClaimedJob[], isFull: boolean, orgs: readonly string[]): boolean {
  const reached = isFull ? Math.max(...claimed.map((job) => job.place)) : orgs.length;
  const isEnd = reached === orgs.length && orgs.length < maxOrgsPerWalk;
  const askedAll = lane.visitedAll && isEnd && !isFull;
  lane.afterOrg = isEnd ? '' : orgs[reached - 1]!;
  lane.visitedAll = isEnd || (lane.visitedAll && !isFull);
  return !askedAll;
}

/** Free slots, and how many of them any organization may have. */
const freeSlots = ({ slots, perOrg, running, runningByOrg }: LaneState) => ({
  free: slots - running.size,
  room: perOrg - Math.max(0, ...runningByOrg.values()),
});

async function claimDue(lane: LaneState, limit: number, order: Order): Promise<ClaimResult> {
  const lease = randomUUID();
  const since = performance.now();
  const isFullPoll = since - lane.fullPollAt >= pollMs;
  lane.lostLeases = lane.lostLeases.filter((u) => since - u.since < forgetLostLeaseMs);
  lane.claimLimit = limit;
  try {
    const listsOrgs = order === 'turns' || (order === 'alone' && since - lane.orgsListedAt >= listOrgsEveryMs);
    if (listsOrgs) lane.orgsListedAt = since;
    const { nextMs, claimed, orgs } = await queryJobs(lane, { limit, lease, isFullPoll, order, listsOrgs });
    claimed.sort((a, b) => (a.run_at === b.run_at ? a.id - b.id : a.run_at < b.run_at ? -1 : 1));
    if (isFullPoll) lane.fullPollAt = since;
    const late = claimed.filter((job) => job.late_ms > backlogMs);
    const isFull = claimed.length === limit;
    lane.lastSeenByOrg = new Map(isFull ? late.map((job) => [orgKeyOf(job), job]) : []);
    // By turns, an organization's jobs may be left because it is at its limit: that says nothing about the jobs that remain.
    if (order === 'turns') lane.continueFrom = late.length || lane.continueFrom ? { oldest: true } : undefined;
    else lane.continueFrom = isFull && late.length ? { after: late.at(-1)! } : undefined;
    return { claimed, nextMs, orgs };
  } catch (error) {
    lane.lostLeases.push({ lease, since });
    throw error;
  }
}

interface ClaimRequest {
  limit: number;
  lease: string;
  isFullPoll: boolean;
  order: Order;
  listsOrgs: boolean;
}

interface ClaimResult {
  claimed: ClaimedJob[];
  nextMs: number;
  /** The organizations of this turn, in order. With `alone`: those that have jobs. Empty when all were queried at once. */
  orgs: string[];
}

/** The next due time is read before the claim: a job that falls due between the two is claimed, not missed by both. */
const queryJobs = (lane: LaneState, { limit, lease, isFullPoll, order, listsOrgs }: ClaimRequest): Promise<ClaimResult> => {
  const { kinds, perOrg, runningByOrg, lastSeenByOrg } = lane;
  const wanted = { lane: lane.lane, kinds, limit, lease, unanswered: lane.lostLeases.map((u) => u.lease), leasedHere: lane.leasedHere() };
  return lane.db.read(async (tx) => {
    const turns = order === 'turns' ? await jobOrgsAfter(tx, lane.lane, lane.afterOrg) : [];
    const [nextMs, orgs, claimed] = await Promise.all([
      nextDueIn(tx, lane.lane, lane.kindNames, pollMs),
      order === 'alone' && listsOrgs ? jobOrgsAfter(tx, lane.lane, '') : turns,
      order === 'turns'
        ? claimJobsFairly(tx, { ...wanted, orgs: turns, perOrg, running: runningByOrg, seen: isFullPoll ? new Map() : lastSeenByOrg })
        : claimJobs(tx, { ...wanted, from: isFullPoll ? { oldest: true } : (lane.continueFrom ?? { withinSeconds: recentSeconds }) }),
    ]);
    return { nextMs, claimed, orgs };
  });
};

/** Jobs that end within a moment are replaced by one claim, since a claim costs the database as much as many a job does. */
function refillSoon(lane: LaneState): void {
  if (lane.isStopping) return;
  lane.endedSinceClaim++;
  lane.refillTimer ??= setTimeout(refillNow, refillDelayMs, lane);
  if (lane.endedSinceClaim === Math.ceil(lane.perOrg / 4)) setImmediate(refillNow, lane);
}

function refillNow(lane: LaneState): void {
  clearTimeout(lane.refillTimer);
  lane.refillTimer = undefined;
  lane.endedSinceClaim = 0;
  lane.sleeper.wake();
}

/** The limit of lost leases that are queried by name; jobs beyond it wait until their lease lapses. */
const maxLostLeases = 500;

function takeSlot(lane: LaneState, kind: string, org: string | undefined): Slot | undefined {
  const leaseSeconds = lane.kinds.get(kind);
  const orgKey = orgKeyOf({ org_id: org ?? null });
  const running = lane.runningByOrg.get(orgKey) ?? 0;
  const isFree = freeSlots(lane).free > lane.claimLimit && running + lane.claimLimit < lane.perOrg;
  if (leaseSeconds === undefined || lane.isStopping || lane.isContended || !isFree || lane.isHeld?.()) return undefined;
  const lease = randomUUID();
  const takenAt = performance.now();
  const { promise, resolve } = Promise.withResolvers<void>();
  occupySlot(lane, orgKey, promise);
  return {
    lease,
    leaseSeconds,
    begin: ({ id, key, payload, requestId, runAt }) => {
      const inserted = {
        id,
        kind,
        key,
        payload,
        org_id: org ?? null,
        request_id: requestId ?? null,
        attempts: 1,
        lease,
        late_ms: 0,
        place: 0,
      };
      const job = { ...inserted, run_at: runAt };
      if (!lane.isStopping) return resolve(lane.outsideCaller(() => lane.start(job, takenAt)));
      lane.release([job], takenAt);
      resolve();
    },
    release: (isKnown = true) => {
      if (!isKnown && lane.lostLeases.length < maxLostLeases) lane.lostLeases.push({ lease, since: takenAt });
      resolve();
    },
  };
}

const startJob = (lane: LaneState, job: ClaimedJob, claimedAt: number): void => occupySlot(lane, orgKeyOf(job), lane.start(job, claimedAt));

/** Counts the slot as used until the promise settles. */
function occupySlot(lane: LaneState, org: string, use: Promise<void>): void {
  lane.runningByOrg.set(org, (lane.runningByOrg.get(org) ?? 0) + 1);
  const used = use.finally(() => {
    lane.running.delete(used);
    const left = lane.runningByOrg.get(org)! - 1;
    if (left > 0) lane.runningByOrg.set(org, left);
    else lane.runningByOrg.delete(org);
    if (lane.isFull) refillSoon(lane);
  });
  lane.running.add(used);
}
