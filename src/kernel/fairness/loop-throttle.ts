import { type LoopLoad, watchLoop } from './loop-load.ts';

/**
 * Delays the tenants that use most of the event loop, so that the others' requests run first. Each tenant has a leaky bucket of debt:
 * `charge` adds the time of its work, and the tenant's share of wall time drains it. The share is 1/2 with one demanding tenant, 1/3 with
 * two, 1/4 with three.
 *
 * States of a tenant:
 * - light: the bucket is below `fullDebtMs`. A light tenant is never delayed.
 * - heavy: the bucket overflowed. It now drains at a third of the share, and each next piece of work is delayed until most of the debt has
 *   drained: first in, first out, one piece a loop turn. The tenant is light again once the bucket is empty and nothing of it waits.
 * - heavy on trial: the demand of a delayed tenant is unknown, so now and then it gets its whole share for a moment. The trial is extended while
 *   its queue shrinks: a tenant that wants less than its share leaves the heavy state this way.
 *
 * No tenant is delayed for idle tenants, nor while the loop is idle much of the time. Of two heavy tenants, neither is delayed for one with
 * the longer queue: demand shows in the queue, not in past usage.
 */
export interface LoopThrottle {
  /** Adds the duration of a piece of work to the tenant's debt. */
  charge(org: string, ms: number): void;
  /** Undefined when the tenant may continue; else a promise to await first. It never rejects. */
  delay(org: string): Promise<void> | undefined;
  /** Delayed work by tenant, and the total delay so far, for the metrics. */
  figures(): { resting: { org: string; waiting: number }[]; restedSeconds: number };
}

/** The debt at which a tenant becomes heavy: the burst that a quiet tenant may run at once. */
const fullDebtMs = 100;
/** Debt up to this is never delayed, even for heavy tenants. */
const burstMs = 8;
/** The most debt of a heavy tenant: what it used while alone costs it no more than a moment. */
const maxHeavyDebtMs = 50;
/** The part of its share that a heavy tenant gets outside trials. */
const heavyShare = 0.3;
/** A trial lasts `ms`. The first one comes after `afterMs`; each one in vain doubles the wait, up to `maxAfterMs`. */
const trial = { ms: 300, afterMs: 1_000, maxAfterMs: 8_000 };
/** A trial succeeded if the queue shrank below this part of its length at the beginning. */
const shrunkPart = 7 / 8;
/**
 * After `long` the tenant gets its whole share; after `longest` its oldest work runs in the next turn. Shorter bounds would let a tenant with a
 * thousand connections run a thousand pieces in each interval, whatever its share is.
 */
const delayMs = { long: 5_000, longest: 10_000 };
/** The most delayed pieces of one tenant: one more lets the oldest run at once. Delayed work is held in memory. */
const maxDelayed = 2_000;
/** A tenant that used the loop within this time wants more: the statements of one request are a few milliseconds apart. */
const activeMs = 50;
/** Accounts without work are dropped after this. */
const keptMs = 1_000;
/** A tenant is demanding if it had this part of the last second. Recounted now and then: there may be thousands of small ones. */
const demanding = { part: 0.1, windowMs: 1_000, recountMs: 20 };

interface Account {
  debtMs: number;
  /** When the debt was computed, which is also the tenant's last activity. */
  at: number;
  isHeavy: boolean;
  /** Of heavy tenants: the current phase, on trial or not, its end, the queue length at its beginning, and the wait before the next trial. */
  phase: { isTrial: boolean; until: number; queued: number; afterMs: number };
  /** Usage of the last second, decayed by age. */
  recentMs: number;
  delayed: { since: number; resume(): void }[];
}

const firstPhase = (at: number): Account['phase'] => ({ isTrial: false, until: at + trial.afterMs, queued: 0, afterMs: trial.afterMs });

const recentAt = ({ recentMs, at: computedAt }: Account, at: number) => recentMs * Math.exp((computedAt - at) / demanding.windowMs);

/** Starts the next phase of a heavy tenant once the current one is over, or at once when its oldest work has waited too long. */
function advancePhase(account: Account, at: number): void {
  const { isTrial: wasTrial, until, queued: before, afterMs } = account.phase;
  const isLong = at - account.delayed[0]!.since >= delayMs.long;
  if (at < until && (wasTrial || !isLong)) return;
  const queued = account.delayed.length;
  if (!wasTrial || isLong || queued < shrunkPart * before) account.phase = { isTrial: true, until: at + trial.ms, queued, afterMs };
  else {
    const longer = Math.min(2 * afterMs, trial.maxAfterMs);
    account.phase = { isTrial: false, until: at + longer, queued, afterMs: longer };
  }
}

export const makeLoopThrottle = (now = () => performance.now(), load: LoopLoad = watchLoop(now)): LoopThrottle => new DebtLedger(now, load);

/** The accounts of the active tenants, and what each may use. */
class DebtLedger implements LoopThrottle {
  readonly #now: () => number;
  readonly #load: LoopLoad;
  readonly #accounts = new Map<string, Account>();
  /** The part of wall time that each demanding tenant may use, and when it was computed. */
  #share = { each: 0.5, countedAt: Number.NEGATIVE_INFINITY };
  #totalDelayMs = 0;
  #removedIdleAt: number;

  constructor(now: () => number, load: LoopLoad) {
    this.#now = now;
    this.#load = load;
    this.#removedIdleAt = now();
  }

  charge(org: string, ms: number): void {
    const at = this.#now();
    const account = this.#accounts.get(org) ?? { debtMs: 0, at, isHeavy: false, phase: firstPhase(at), recentMs: 0, delayed: [] };
    this.#accounts.set(org, account);
    this.#addDebt(account, this.#load.weigh(ms), at);
    if (at - this.#share.countedAt > demanding.recountMs) this.#recountShares(at);
    if (at - this.#removedIdleAt > keptMs) this.#removeIdle(at);
  }

  delay(org: string): Promise<void> | undefined {
    const account = this.#accounts.get(org);
    if (!account) return undefined;
    const at = this.#now();
    if (account.delayed.length >= maxDelayed) this.#resumeOldest(account, at);
    if (account.delayed.length === 0) {
      if (!account.isHeavy || this.#debtAt(account, at) <= burstMs || !this.#isContended(account, at)) return undefined;
      setImmediate(this.#drain, account);
    }
    return new Promise((resume) => account.delayed.push({ since: at, resume }));
  }

  figures() {
    return {
      resting: [...this.#accounts].flatMap(([org, { delayed }]) => (delayed.length > 0 ? [{ org, waiting: delayed.length }] : [])),
      restedSeconds: this.#totalDelayMs / 1000,
    };
  }

  #shareOf({ isHeavy, phase }: Account): number {
    return this.#share.each * (isHeavy && !phase.isTrial ? heavyShare : 1);
  }

  #debtAt(account: Account, at: number): number {
    return Math.max(0, account.debtMs - (at - account.at) * this.#shareOf(account));
  }

  #addDebt(account: Account, ms: number, at: number): void {
    const left = this.#debtAt(account, at);
    const debt = left + ms;
    const wasHeavy = account.isHeavy;
    account.isHeavy = debt > fullDebtMs || (wasHeavy && (left > 0 || account.delayed.length > 0));
    if (account.isHeavy && !wasHeavy) account.phase = firstPhase(at);
    account.recentMs = recentAt(account, at) + ms;
    account.debtMs = account.isHeavy ? Math.min(maxHeavyDebtMs, debt) : debt;
    account.at = at;
  }

  #recountShares(at: number): void {
    let count = 0;
    for (const account of this.#accounts.values()) if (recentAt(account, at) > demanding.part * demanding.windowMs) count++;
    this.#share = { each: 1 / (1 + Math.max(1, count)), countedAt: at };
  }

  #removeIdle(at: number): void {
    this.#removedIdleAt = at;
    for (const [org, account] of this.#accounts) if (account.delayed.length === 0 && at - account.at > keptMs) this.#accounts.delete(org);
  }

  /** Whether an active tenant goes before this one. */
  #isContended(account: Account, at: number): boolean {
    if (!this.#load.isBusy()) return false;
    for (const other of this.#accounts.values())
      if (at - other.at <= activeMs && other !== account && this.#goesFirst(other, account, at)) return true;
    return false;
  }

  /** A light tenant goes before a heavy one; of two heavy ones, the one with less debt and no longer queue. */
  #goesFirst(other: Account, account: Account, at: number): boolean {
    if (!other.isHeavy) return true;
    return other.delayed.length <= account.delayed.length && this.#debtAt(other, at) < this.#debtAt(account, at);
  }

  /** Resumes the oldest delayed work once enough debt has drained, then comes again for the next. */
  readonly #drain = (account: Account): void => {
    const at = this.#now();
    if (account.delayed.length === 0) return;
    advancePhase(account, at);
    const ms = (this.#debtAt(account, at) - burstMs) / this.#shareOf(account);
    const mayWait = at - account.delayed[0]!.since < delayMs.longest;
    if (ms > 0 && mayWait && this.#isContended(account, at))
      return void setTimeout(this.#drain, Math.min(Math.ceil(ms), activeMs), account);
    this.#resumeOldest(account, at);
    if (account.delayed.length > 0) setImmediate(this.#drain, account); // the cost of this piece is known after its turn
  };

  #resumeOldest(account: Account, at: number): void {
    const { since, resume } = account.delayed.shift()!;
    this.#totalDelayMs += at - since;
    resume();
  }
}
