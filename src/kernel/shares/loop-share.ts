import { type LoopLoad, watchLoop } from './loop-load.ts';

/**
 * Whoever has had much of the event loop lets those go first who have had less and want some of it now. An organization's time is a bucket that
 * leaks: what its pieces of work took is poured in, a quarter of the time that passes runs out. Whoever has filled theirs rests before the next
 * piece, in the order in which they came, one a turn; so a quarter is everybody's, whatever the others do. Nobody rests for those who are
 * quiet, nor while the loop is idle for much of the time: what others leave is there to be taken.
 */
export interface LoopShare {
  /** A piece of work of this organization took so long. */
  spend(org: string, ms: number): void;
  /** Undefined: go on. Else rest for so long first; it never rejects. */
  rest(org: string): Promise<void> | undefined;
  /** Who rests at this moment, and how long everybody's have rested so far, for the metrics. */
  figures(): { resting: { org: string; waiting: number }[]; restedSeconds: number };
}

const share = 0.25;
/** So much at once is nobody's loss. */
const burstMs = 8;
/** More is not held against anybody, nor is anybody held longer: what an organization did alone costs it no more than a moment. */
const mostDebtMs = 50;
const longestRestMs = 2_000;
/** Those who come while so many of theirs rest go on at once: what rests is kept in memory. */
const mostResting = 500;
/** Who had some of the loop within this time wants more of it: between two statements of one request it is a few milliseconds. */
const wantsMs = 50;
const keptMs = 1_000;

interface Account {
  debtMs: number;
  /** When the debt was reckoned, which is also when the organization was last active. */
  at: number;
  resting: { since: number; goOn(): void }[];
}

export function makeLoopShare(now = () => performance.now(), load: LoopLoad = watchLoop(now)): LoopShare {
  const accounts = new Map<string, Account>();
  let restedMs = 0;
  let tidiedAt = now();

  const debtAt = (account: Account, at: number) => Math.max(0, account.debtMs - (at - account.at) * share);
  /** Somebody who has had less wants the loop. */
  const isWanted = (account: Account, at: number) => {
    if (!load.isBusy()) return false;
    const debt = debtAt(account, at);
    for (const other of accounts.values()) if (at - other.at <= wantsMs && debtAt(other, at) < debt) return true;
    return false;
  };

  const letGo = (account: Account, at: number) => {
    const { since, goOn } = account.resting.shift()!;
    restedMs += at - since;
    goOn();
  };
  const letNextGo = (account: Account) => {
    const at = now();
    while (account.resting.length > 0 && at - account.resting[0]!.since >= longestRestMs) letGo(account, at);
    if (account.resting.length === 0) return;
    const ms = (debtAt(account, at) - burstMs) / share;
    if (ms > 0 && isWanted(account, at)) return void setTimeout(letNextGo, Math.min(Math.ceil(ms), wantsMs), account);
    letGo(account, at);
    if (account.resting.length > 0) setImmediate(letNextGo, account); // what this one takes is known after its turn
  };
  const tidy = (at: number) => {
    tidiedAt = at;
    for (const [org, account] of accounts) if (account.resting.length === 0 && at - account.at > keptMs) accounts.delete(org);
  };

  return {
    spend: (org, ms) => {
      const at = now();
      const account = accounts.get(org) ?? { debtMs: 0, at, resting: [] };
      accounts.set(org, account);
      account.debtMs = Math.min(mostDebtMs, debtAt(account, at) + load.weigh(ms));
      account.at = at;
      if (at - tidiedAt > keptMs) tidy(at);
    },
    rest: (org) => {
      const account = accounts.get(org);
      if (!account) return undefined;
      const at = now();
      if (account.resting.length >= mostResting) return undefined;
      if (account.resting.length === 0) {
        if (debtAt(account, at) <= burstMs || !isWanted(account, at)) return undefined;
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
