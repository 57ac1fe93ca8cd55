import { AsyncLocalStorage } from 'node:async_hooks';
import type { Db } from '../db/index.ts';
import type { Logger } from '../log.ts';
import { type InterruptibleSleep, makeInterruptibleSleep } from './interruptible-sleep.ts';
import type { ClaimedJob, ClaimFrom } from './store.ts';

export interface LaneOptions {
  lane: string;
  slots: number;
  /** How many of them one organization may have. The rest is there for the others, whatever its jobs wait for. */
  perOrg: number;
  /**
   * So long after a claim, those who wake the lane share the next one; so does what falls due, if there was something to take. The first one after
   * a pause is answered at once.
   */
  shareMs: number;
  db: Db;
  log: Logger;
  /** Kinds this worker knows, with their leases in seconds. */
  kinds: ReadonlyMap<string, number>;
  /** Jobs that this process has leased already. */
  leasedHere: () => number[];
  /** Nothing of it begins: see kernel/backup/restore-hold.ts. */
  isHeld?: () => boolean;
  /** Begins a claimed job and settles when its slot is free again. */
  begin: (job: ClaimedJob, claimedAt: number) => Promise<void>;
  /** Claimed, but not begun because the lane was stopped meanwhile. */
  giveBack: (jobs: ClaimedJob[], claimedAt: number) => void;
}

/** What a lane knows of itself while it runs. */
export interface LaneState extends LaneOptions {
  names: string[];
  rest: InterruptibleSleep;
  running: Set<Promise<void>>;
  stopping: boolean;
  /** The last claim failed, and the log says so already. */
  away: boolean;
  runningOf: Map<string, number>;
  /** No slot was free at the last look, or none for somebody: the next one that becomes free is worth a look. */
  full: boolean;
  /** How many have ended since the last claim, and until when more are waited for. */
  ended: number;
  gathering: NodeJS.Timeout | undefined;
  /** A claim is under way, and whether somebody woke the lane meanwhile; when the last one ended, and the next look for those who woke it since. */
  looking: boolean;
  woken: boolean;
  lookedAt: number;
  sharing: NodeJS.Timeout | undefined;
  /** The last claim took something: more falls due in a moment, as likely as not. */
  tookSome: boolean;
  /** The last claim took all it might, so there may be more: until it does not, organizations are served in turn. */
  behind: boolean;
  /** How many slots the claim under way may fill: until it has, they are not for what is born meanwhile. */
  asked: number;
  /** After the last look no slot was free, or none for somebody, or more was due: whoever comes now waits behind those who may wait. */
  crowded: boolean;
  /** Where the next turn begins: after this organization; '' for the first. */
  afterOrg: string;
  /** This walk through the organizations began with the first and has left nobody out so far. */
  asksAll: boolean;
  /** The last look found jobs of one organization only: turns would be its own, one after the other. */
  isAlone: boolean;
  /** Nobody seems to have a job here, due or not. */
  isEmpty: boolean;
  /** How often the lane was woken; and at which of these times somebody was found to have jobs here that are not due. */
  wakes: number;
  usedSince: number | undefined;
  /** When we last looked who is there. Whoever comes wakes the lane, and is looked for by the next claim. */
  sawWhoAt: number;
  /** Claims and births whose answer never came: what they took is under a lease that only we know. */
  unanswered: { lease: string; since: number }[];
  sawAllAt: number;
  /** The last job of each organization in a batch that is far behind: the next claim goes on after it. */
  sawUpTo: Map<string, ClaimedJob>;
  /** The same for a claim that asks everybody at once; undefined near the present. */
  goOn: ClaimFrom | undefined;
  /** Does something apart from whoever asks for it: what a request inserts is not its own to run. */
  apart: <T>(act: () => T) => T;
}

/** Claims what is due for its free slots, sleeps until the next one is due, and never waits for another lane. */

export function makeLaneState(options: LaneOptions): LaneState {
  return {
    ...options,
    names: [...options.kinds.keys()],
    rest: makeInterruptibleSleep(),
    running: new Set(),
    runningOf: new Map(),
    stopping: false,
    away: false,
    full: false,
    ended: 0,
    gathering: undefined,
    looking: false,
    woken: false,
    lookedAt: -Infinity,
    sharing: undefined,
    tookSome: false,
    behind: false,
    asked: 0,
    crowded: true,
    afterOrg: '',
    asksAll: true,
    isAlone: false,
    isEmpty: true,
    wakes: 0,
    usedSince: undefined,
    sawWhoAt: -Infinity,
    unanswered: [],
    sawAllAt: -Infinity,
    sawUpTo: new Map(),
    goOn: undefined,
    apart: AsyncLocalStorage.snapshot(),
  };
}
