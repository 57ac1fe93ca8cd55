import { type LoopLoad, watchLoop } from './loop-load.ts';

/**
 * Whoever wants very much of the event loop lets those go first who want less. An organization's time is a bucket that leaks: what its pieces
 * of work took is poured in, its part of the time that passes runs out. That is half; a third where two want much, a quarter where three do.
 * Nobody whose bucket holds rests. Whoever has filled theirs is heavy: from then on less runs out, and they rest before each next piece until
 * most of what they had has run out, in the order in which they came, one a turn. They are heavy until the bucket is empty and nothing of
 * theirs rests: until they want less than they have. What those want who rest, nobody knows; so now and then they have their whole part for
 * a moment, and on for as long as less and less of theirs rests: whoever wants less than their part comes out of it.
 *
 * Nobody rests for those who are quiet, nor while the loop is idle for much of the time: what others leave is there to be taken. Of two who
 * are heavy, neither rests for the sake of one that has more waiting: how much somebody wants shows in what waits, not in what they got.
 */
export interface LoopShare {
  /** A piece of work of this organization took so long. */
  spend(org: string, ms: number): void;
  /** Undefined: go on. Else rest for so long first; it never rejects. */
  rest(org: string): Promise<void> | undefined;
  /** Who rests at this moment, and how long everybody's have rested so far, for the metrics. */
  figures(): { resting: { org: string; waiting: number }[]; restedSeconds: number };
}

/** What runs out of the bucket of those who are heavy, of what runs out of the others'. */
const heavyPart = 0.3;
/** After so long, and after twice as long each time that it was in vain, those who are heavy have their whole part for a moment. */
const trial = { ms: 300, afterMs: 1_000, mostAfterMs: 8_000 };
const firstTerm = (at: number): Account['term'] => ({ isTrial: false, until: at + trial.afterMs, resting: 0, afterMs: trial.afterMs });
/** It was not in vain if this much of what rested, or less, rests by then. */
const lessThan = 7 / 8;
/** So much fills a bucket. It is what somebody who was quiet can have at once. */
const fullMs = 100;
/** So much at once is nobody's loss, even of those who are heavy. */
const burstMs = 8;
/** More is not held against those who are heavy: what an organization did alone costs it no more than a moment. */
const mostDebtMs = 50;
/** Once one of theirs has rested for `long`, somebody has their whole part; one that has rested for `longest` goes on in the next turn. (Were
 *  both short, whoever has a thousand connections would have a thousand pieces in each of these times, whatever their part is.) */
const restMs = { long: 5_000, longest: 10_000 };
/** Whoever comes while so many of theirs rest takes the place of the one that has rested longest, which goes on at once: what rests is kept in memory. */
const mostResting = 2_000;
/** Who had some of the loop within this time wants more of it: between two statements of one request it is a few milliseconds. */
const wantsMs = 50;
const keptMs = 1_000;
/** Who had this much of the last second wants much. They are counted now and then: there may be thousands who want little. */
const much = { of: 0.1, lastMs: 1_000, countedEachMs: 20 };

interface Account {
  debtMs: number;
  /** When the debt was reckoned, which is also when the organization was last active. */
  at: number;
  isHeavy: boolean;
  /** Of those who are heavy: whether they have their whole part, until when, how much rested when that began, and how long they have less of it. */
  term: { isTrial: boolean; until: number; resting: number; afterMs: number };
  /** What it had of the last second, of which older parts count less. */
  lately: number;
  resting: { since: number; goOn(): void }[];
}

const latelyAt = ({ lately, at: reckonedAt }: Account, at: number) => lately * Math.exp((reckonedAt - at) / much.lastMs);

/** Begins the next term of somebody who is heavy, once the one before is over, or has lasted too long for one of those who rest. */
function tryOut(account: Account, at: number): void {
  const { isTrial: wasTrial, until, resting: before, afterMs } = account.term;
  const isLong = at - account.resting[0]!.since >= restMs.long;
  if (at < until && (wasTrial || !isLong)) return;
  const resting = account.resting.length;
  if (!wasTrial || isLong || resting < lessThan * before) account.term = { isTrial: true, until: at + trial.ms, resting, afterMs };
  else {
    const longer = Math.min(2 * afterMs, trial.mostAfterMs);
    account.term = { isTrial: false, until: at + longer, resting, afterMs: longer };
  }
}

export function makeLoopShare(now = () => performance.now(), load: LoopLoad = watchLoop(now)): LoopShare {
  const accounts = new Map<string, Account>();
  let restedMs = 0;
  let tidiedAt = now();

  let parts = { each: 0.5, countedAt: Number.NEGATIVE_INFINITY };

  const partOf = ({ isHeavy, term }: Account) => parts.each * (isHeavy && !term.isTrial ? heavyPart : 1);
  const debtAt = (account: Account, at: number) => Math.max(0, account.debtMs - (at - account.at) * partOf(account));
  const countParts = (at: number) => {
    let wanting = 0;
    for (const account of accounts.values()) if (latelyAt(account, at) > much.of * much.lastMs) wanting++;
    parts = { each: 1 / (1 + Math.max(1, wanting)), countedAt: at };
  };
  /** Somebody wants the loop who is not heavy, or is so less than this one. */
  const isWanted = (account: Account, at: number) => {
    if (!load.isBusy()) return false;
    const goesFirst = (other: Account) =>
      !other.isHeavy || (other.resting.length <= account.resting.length && debtAt(other, at) < debtAt(account, at));
    for (const other of accounts.values()) if (at - other.at <= wantsMs && other !== account && goesFirst(other)) return true;
    return false;
  };

  const letGo = (account: Account, at: number) => {
    const { since, goOn } = account.resting.shift()!;
    restedMs += at - since;
    goOn();
  };
  const letNextGo = (account: Account) => {
    const at = now();
    if (account.resting.length === 0) return;
    tryOut(account, at);
    const ms = (debtAt(account, at) - burstMs) / partOf(account);
    const mayRest = at - account.resting[0]!.since < restMs.longest;
    if (ms > 0 && mayRest && isWanted(account, at)) return void setTimeout(letNextGo, Math.min(Math.ceil(ms), wantsMs), account);
    letGo(account, at);
    if (account.resting.length > 0) setImmediate(letNextGo, account); // what this one takes is known after its turn
  };
  const pour = (account: Account, ms: number, at: number) => {
    const left = debtAt(account, at);
    const debt = left + ms;
    const wasHeavy = account.isHeavy;
    account.isHeavy = debt > fullMs || (account.isHeavy && (left > 0 || account.resting.length > 0));
    if (account.isHeavy && !wasHeavy) account.term = firstTerm(at);
    account.lately = latelyAt(account, at) + ms;
    account.debtMs = account.isHeavy ? Math.min(mostDebtMs, debt) : debt;
    account.at = at;
  };
  const tidy = (at: number) => {
    tidiedAt = at;
    for (const [org, account] of accounts) if (account.resting.length === 0 && at - account.at > keptMs) accounts.delete(org);
  };

  return {
    spend: (org, ms) => {
      const at = now();
      const account = accounts.get(org) ?? { debtMs: 0, at, isHeavy: false, term: firstTerm(at), lately: 0, resting: [] };
      accounts.set(org, account);
      pour(account, load.weigh(ms), at);
      if (at - parts.countedAt > much.countedEachMs) countParts(at);
      if (at - tidiedAt > keptMs) tidy(at);
    },
    rest: (org) => {
      const account = accounts.get(org);
      if (!account) return undefined;
      const at = now();
      if (account.resting.length >= mostResting) letGo(account, at);
      if (account.resting.length === 0) {
        if (!account.isHeavy || debtAt(account, at) <= burstMs || !isWanted(account, at)) return undefined;
        setImmediate(letNextGo, account);
      }
      return new Promise((goOn) => account.resting.push({ since: at, goOn }));
    },
    figures: () => ({
      resting: [...accounts].flatMap(([org, { resting }]) => (resting.length > 0 ? [{ org, waiting: resting.length }] : [])),
      restedSeconds: restedMs / 1000,
    }),
  };
}
