import type { Assignment, Outcome } from '../../../protocols/agent.ts';

export type Streak = Assignment['streak'];

/** How this vantage's streak moves, as the server counts it: the prober needs it only to know how soon to look again. */
export function nextStreak(streak: Streak, outcome: Outcome, confirmations: number): Streak {
  if (outcome === 'missed') return streak;
  if (outcome === 'pass') {
    const pass = streak.pass + 1;
    return { fail: 0, pass, verdict: streak.verdict === 'unknown' || pass >= confirmations ? 'passing' : streak.verdict };
  }
  const fail = streak.fail + 1;
  return { fail, pass: 0, verdict: fail >= confirmations ? 'failing' : streak.verdict };
}

/** It has begun to change its mind, but not often enough in a row. */
export const isUnconfirmed = ({ fail, pass, verdict }: Streak, confirmations: number): boolean =>
  (fail > 0 && fail < confirmations) || (verdict === 'failing' && pass > 0 && pass < confirmations);

/** A confirmation never waits for a whole interval. */
export const confirmDelayMs = (intervalMs: number): number => Math.min(intervalMs, Math.max(1000, Math.min(10_000, intervalMs / 2)));
