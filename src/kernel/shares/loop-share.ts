/**
 * Nobody has more than half of the event loop while others want some of it. An organization's time is a bucket that leaks: what its pieces of
 * work took is poured in, half of the time that passes runs out. Whoever has filled theirs rests before the next piece, in the order in which
 * they came, one a turn. Alone, nobody rests.
 */
export interface LoopShare {
  /** A piece of work of this organization took so long. */
  spend(org: string, ms: number): void;
  /** Undefined: go on. Else rest for so long first; it never rejects. */
  rest(org: string): Promise<void> | undefined;
  /** Who rests at this moment, and how long everybody's have rested so far, for the metrics. */
  figures(): { resting: { org: string; waiting: number }[]; restedSeconds: number };
}

const share = 0.5;
/** So much at once is nobody's loss. */
const burstMs = 25;
/** More is not held against anybody, nor is anybody held longer: what an organization did alone costs it no more than a moment. */
const mostDebtMs = 50;
const longestRestMs = 2_000;
/** Others want the loop if they had some of it within this time. */
const activeMs = 1_000;

interface Account {
  debtMs: number;
  /** When the debt was reckoned, which is also when the organization was last active. */
  at: number;
  resting: { since: number; goOn(): void }[];
}

export function makeLoopShare(now = () => performance.now()): LoopShare {
  const accounts = new Map<string, Account>();
  /** Whoever was active last, and whoever else was before: enough to know whether somebody other than this one was. */
  let last = { org: '', at: Number.NEGATIVE_INFINITY };
  let other = last;
  let restedMs = 0;
  let tidiedAt = now();

  const debtAt = (account: Account, at: number) => Math.max(0, account.debtMs - (at - account.at) * share);
  const isAlone = (org: string, at: number) => (last.org === org ? other : last).at < at - activeMs;

  const letGo = (account: Account, at: number) => {
    const { since, goOn } = account.resting.shift()!;
    restedMs += at - since;
    goOn();
  };
  const letNextGo = (org: string, account: Account) => {
    const at = now();
    while (account.resting.length > 0 && (isAlone(org, at) || at - account.resting[0]!.since >= longestRestMs)) letGo(account, at);
    if (account.resting.length === 0) return;
    const ms = (debtAt(account, at) - burstMs) / share;
    if (ms > 0) return void setTimeout(letNextGo, Math.ceil(ms), org, account);
    letGo(account, at);
    if (account.resting.length > 0) setImmediate(letNextGo, org, account); // what this one takes is known after its turn
  };
  const tidy = (at: number) => {
    tidiedAt = at;
    for (const [org, account] of accounts) if (account.resting.length === 0 && at - account.at > activeMs) accounts.delete(org);
  };

  return {
    spend: (org, ms) => {
      const at = now();
      const account = accounts.get(org) ?? { debtMs: 0, at, resting: [] };
      accounts.set(org, account);
      account.debtMs = Math.min(mostDebtMs, debtAt(account, at) + ms);
      account.at = at;
      if (last.org === org) last.at = at;
      else [other, last] = [last, { org, at }];
      if (at - tidiedAt > activeMs) tidy(at);
    },
    rest: (org) => {
      const account = accounts.get(org);
      if (!account) return undefined;
      const at = now();
      if (account.resting.length === 0) {
        if (debtAt(account, at) <= burstMs || isAlone(org, at)) return undefined;
        setImmediate(letNextGo, org, account);
      }
      return new Promise((goOn) => account.resting.push({ since: at, goOn }));
    },
    figures: () => ({
      resting: [...accounts].flatMap(([org, { resting }]) => (resting.length > 0 ? [{ org, waiting: resting.length }] : [])),
      restedSeconds: restedMs / 1000,
    }),
  };
}
