import { AsyncLocalStorage } from 'node:async_hooks';
import type { Db } from '../db/index.ts';
import type { Logger } from '../log.ts';
import { type InterruptibleSleep, makeInterruptibleSleep } from './interruptible-sleep.ts';
import type { ClaimedJob, ClaimFrom } from './store.ts';

export interface LaneOptions {
  lane: string;
  slots: number;
  /** The slot limit of one organization. The other slots stay free for other organizations, however long its jobs take. */
  perOrg: number;
  /**
   * Wakes within this time after a claim share the next claim; so do jobs that fall due, if the last claim took something. The first wake
   * after a pause is answered at once.
   */
  coalesceMs: number;
  db: Db;
  log: Logger;
  /** The kinds this worker knows, with their leases in seconds. */
  kinds: ReadonlyMap<string, number>;
  /** Ids of jobs that this process holds a lease on. */
  leasedHere: () => number[];
  /** True: no job of the lane starts; see kernel/backup/restore-hold.ts. */
  isHeld?: () => boolean;
  /** Starts a claimed job and settles when its slot is free again. */
  start: (job: ClaimedJob, claimedAt: number) => Promise<void>;
  /** For jobs that were claimed, but not started because the lane was stopped meanwhile. */
  release: (jobs: ClaimedJob[], claimedAt: number) => void;
}

/** The state of a running lane. */
export interface LaneState extends LaneOptions {
  kindNames: string[];
  sleeper: InterruptibleSleep;
  running: Set<Promise<void>>;
  isStopping: boolean;
  /** The last claim failed, and the log says so already. */
  isFailing: boolean;
  runningByOrg: Map<string, number>;
  /** At the last poll no slot was free, or none for some organization: the next slot that becomes free is worth a poll. */
  isFull: boolean;
  /** Jobs that ended since the last claim, and the timer that collects more of them. */
  endedSinceClaim: number;
  refillTimer: NodeJS.Timeout | undefined;
  /**
   * A claim is in flight, and whether a wake came meanwhile; when the last claim ended, and the timer of the next claim for later wakes.
   */
  isClaiming: boolean;
  wokenMeanwhile: boolean;
  claimEndedAt: number;
  wakeTimer: NodeJS.Timeout | undefined;
  /** The last claim took jobs: more will likely fall due in a moment. */
  lastClaimTook: boolean;
  /** The last claim was full, so there may be more. Until one is not full, organizations are served in turn. */
  isBehind: boolean;
  /** Slots that the claim in flight may fill: they are not available to jobs leased at insert. */
  claimLimit: number;
  /** After the last poll no slot was free, or none for some organization, or more was due: a new job queues behind waiting ones. */
  isContended: boolean;
  /** The next turn begins after this organization; '' for the first. */
  afterOrg: string;
  /** This walk through the organizations began with the first and has skipped none so far. */
  visitedAll: boolean;
  /** The last poll found jobs of one organization only, so turns would all be its own. */
  isAlone: boolean;
  /** No organization seems to have a job here, due or not. */
  isEmpty: boolean;
  /** The number of wakes; and the number at which an organization was found to have jobs here that are not due. */
  wakeCount: number;
  usedAtWake: number | undefined;
  /** When the organizations were last listed. A new one wakes the lane, and the next claim lists them again. */
  orgsListedAt: number;
  /** Claims and inserts whose reply never came: their jobs are under a lease that only this process knows. */
  lostLeases: { lease: string; since: number }[];
  fullPollAt: number;
  /** The last job of each organization in a batch far behind schedule: the next claim continues after it. */
  lastSeenByOrg: Map<string, ClaimedJob>;
  /** The same for a claim over all organizations; undefined near the present. */
  continueFrom: ClaimFrom | undefined;
  /** Runs a function outside the caller's context: a job that a request inserts does not run as part of the request. */
  outsideCaller: <T>(act: () => T) => T;
}

/** A lane claims due jobs for its free slots, sleeps until the next one is due, and never waits for another lane. */

export function makeLaneState(options: LaneOptions): LaneState {
  return {
    ...options,
    kindNames: [...options.kinds.keys()],
    sleeper: makeInterruptibleSleep(),
    running: new Set(),
    runningByOrg: new Map(),
    isStopping: false,
    isFailing: false,
    isFull: false,
    endedSinceClaim: 0,
    refillTimer: undefined,
    isClaiming: false,
    wokenMeanwhile: false,
    claimEndedAt: -Infinity,
    wakeTimer: undefined,
    lastClaimTook: false,
    isBehind: false,
    claimLimit: 0,
    isContended: true,
    afterOrg: '',
    visitedAll: true,
    isAlone: false,
    isEmpty: true,
    wakeCount: 0,
    usedAtWake: undefined,
    orgsListedAt: -Infinity,
    lostLeases: [],
    fullPollAt: -Infinity,
    lastSeenByOrg: new Map(),
    continueFrom: undefined,
    outsideCaller: AsyncLocalStorage.snapshot(),
  };
}
