import { makeUsageWindow, type UsageWindow } from './usage-window.ts';

/** An organization waited too long for a slot, or has too many waiters already. The cause is its own load, so its caller gets the error. */
export class TenantThrottled extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'TenantThrottled';
  }
}

export interface FairSemaphoreOptions {
  /** Concurrent holders in total. */
  slots: number;
  /** Concurrent holders of one organization. The remaining slots stay free for the others. */
  perOrg: number;
  /** Concurrent holders of one organization while another active one has used less lately. Default: `perOrg`. */
  perOrgWhenContended?: number;
  /** Waiters of one organization. */
  maxWaitingPerOrg?: number;
  waitMs?: number;
  /** Called with the organization of every refused waiter. */
  onRefused?: (org: string) => void;
  now?: () => number;
}

/** A semaphore that is fair between organizations: round-robin over them, first in, first out within one. */
export interface FairSemaphore {
  /** Undefined when a slot is free at once; else a promise of one, which rejects with `TenantThrottled`. Every acquire needs a `release`. System work
   *  does not count in the fairness between organizations. Urgent waiters go before all others of their organization, without a limit. */
  acquire(org: string, isSystem?: boolean, isUrgent?: boolean): Promise<void> | undefined;
  /** Takes a slot if one is free; never waits. */
  tryAcquire(org: string, isSystem?: boolean): boolean;
  release(org: string): void;
  /** Runs work while holding a slot. */
  run<T>(org: string, work: () => Promise<T>): Promise<T>;
  /** Held slots and waiters by organization, for the metrics. */
  figures(): { org: string; inside: number; waiting: number }[];
}

interface Waiter {
  isUrgent: boolean;
  admit(): void;
}

interface Queue {
  isSystem: boolean;
  inside: number;
  waiting: Waiter[];
}

interface State extends Required<Omit<FairSemaphoreOptions, 'now'>> {
  usage: UsageWindow;
  inside: number;
  queues: Map<string, Queue>;
  /** Organizations with waiters in round-robin order: an admitted one goes to the end. */
  turns: Set<string>;
  /** Waiters under the contended limit are looked at again by this timer: the limit rises once the others are idle, without a release. */
  rescanTimer: NodeJS.Timeout | undefined;
}

const rescanMs = 100;

export function makeFairSemaphore(options: FairSemaphoreOptions): FairSemaphore {
  const { slots, perOrg, perOrgWhenContended = perOrg, maxWaitingPerOrg = 500, waitMs = 2_000, onRefused = () => {} } = options;
  const limits = { slots, perOrg, perOrgWhenContended, maxWaitingPerOrg, waitMs, onRefused };
  const state: State = {
    ...limits,
    usage: makeUsageWindow(options.now),
    inside: 0,
    queues: new Map(),
    turns: new Set(),
    rescanTimer: undefined,
  };
  return {
    acquire: (org, isSystem, isUrgent) => enter(state, org, isSystem, isUrgent),
    tryAcquire: (org, isSystem) => enterAtOnce(state, org, isSystem),
    release: (org) => leave(state, org),
    run: async (org, work) => {
      const turn = enter(state, org);
      if (turn) await turn;
      try {
        return await work();
      } finally {
        leave(state, org);
      }
    },
    figures: () => [...state.queues].map(([org, queue]) => ({ org, inside: queue.inside, waiting: queue.waiting.length })),
  };
}

function enter(state: State, org: string, isSystem = false, isUrgent = false): Promise<void> | undefined {
  const queue = queueOf(state, org, isSystem);
  // Earlier waiters go first: their limit may have risen meanwhile.
  if (state.perOrgWhenContended !== state.perOrg && queue.waiting.length > 0 && (!isUrgent || queue.waiting[0]!.isUrgent)) admitNext(state);
  if (tryEnter(state, org, queue)) return undefined;
  if (queue.waiting.length >= state.maxWaitingPerOrg && !isUrgent) {
    state.onRefused(org);
    return Promise.reject(new TenantThrottled(`${state.maxWaitingPerOrg} of this organization wait already`));
  }
  return enqueue(state, org, queue, isUrgent);
}

function enterAtOnce(state: State, org: string, isSystem = false): boolean {
  const queue = queueOf(state, org, isSystem);
  const isIn = tryEnter(state, org, queue);
  if (!isIn) removeIfIdle(state, org, queue);
  return isIn;
}

function tryEnter(state: State, org: string, queue: Queue): boolean {
  const hasRoom = state.inside < state.slots && queue.inside < limitOf(state, org, queue);
  if (hasRoom) count(state, org, queue, 1);
  return hasRoom;
}

const limitOf = ({ usage: company, perOrg, perOrgWhenContended: besides }: State, org: string, { isSystem }: Queue) =>
  besides === perOrg || isSystem || company.isLowest(org) ? perOrg : besides;

function count(state: State, org: string, queue: Queue, change: 1 | -1): void {
  queue.inside += change;
  state.inside += change;
  if (state.perOrgWhenContended !== state.perOrg && !queue.isSystem) state.usage.record(org, queue.inside);
}

function leave(state: State, org: string): void {
  const queue = state.queues.get(org)!;
  count(state, org, queue, -1);
  admitNext(state);
  removeIfIdle(state, org, queue);
}

function admitNext(state: State): void {
  for (const org of state.turns) {
    if (state.inside >= state.slots) return;
    const queue = state.queues.get(org)!;
    if (queue.inside >= limitOf(state, org, queue)) continue;
    count(state, org, queue, 1);
    state.turns.delete(org);
    const next = queue.waiting.shift()!;
    if (queue.waiting.length > 0) state.turns.add(org); // visited again in this loop, after all others
    next.admit();
  }
}

const enqueue = (state: State, org: string, queue: Queue, isUrgent: boolean) =>
  new Promise<void>((resolve, reject) => {
    const waiter: Waiter = {
      isUrgent,
      admit: () => {
        clearTimeout(timer);
        resolve();
      },
    };
    const timer = setTimeout(() => {
      queue.waiting.splice(queue.waiting.indexOf(waiter), 1);
      removeIfIdle(state, org, queue);
      state.onRefused(org);
      reject(new TenantThrottled(`no turn came within ${state.waitMs / 1000} s`));
    }, state.waitMs);
    const behind = isUrgent ? queue.waiting.findIndex((other) => !other.isUrgent) : -1;
    queue.waiting.splice(behind < 0 ? queue.waiting.length : behind, 0, waiter);
    state.turns.add(org);
    scheduleRescan(state);
  });

function scheduleRescan(state: State): void {
  if (state.perOrgWhenContended === state.perOrg || state.rescanTimer || state.turns.size === 0) return;
  state.rescanTimer = setTimeout(() => {
    state.rescanTimer = undefined;
    admitNext(state);
    scheduleRescan(state);
  }, rescanMs).unref();
}

function queueOf({ queues }: State, org: string, isSystem: boolean): Queue {
  let queue = queues.get(org);
  if (!queue) {
    queue = { isSystem, inside: 0, waiting: [] };
    queues.set(org, queue);
  }
  return queue;
}

function removeIfIdle({ queues, turns }: State, org: string, queue: Queue): void {
  if (queue.waiting.length === 0) turns.delete(org);
  if (queue.inside === 0 && queue.waiting.length === 0) queues.delete(org);
}
