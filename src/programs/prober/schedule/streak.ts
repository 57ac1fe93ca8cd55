import type { Assignment, Outcome } from '../../../protocols/agent.ts';

export type Streak = Assignment['streak'];

/** A vantage's streak after a check, as the server counts it: the prober uses it only to decide how soon to check again. */
export function nextStreak(streak: Streak, outcome: Outcome, confirmations: number): Streak {
  if (outcome === 'missed') return streak;
  if (outcome === 'pass') {
    const pass = streak.pass + 1;
    return { fail: 0, pass, verdict: streak.verdict === 'unknown' || pass >= confirmations ? 'passing' : streak.verdict };
  }
  const fail = streak.fail + 1;
  return { fail, pass: 0, verdict: fail >= confirmations ? 'failing' : streak.verdict };
}

/** The verdict has begun to change but is not confirmed yet. */
export const isUnconfirmed = ({ fail, pass, verdict }: Streak, confirmations: number): boolean =>
  (fail > 0 && fail < confirmations) || (verdict === 'failing' && pass > 0 && pass < confirmations);

/** A confirmation never waits for a whole interval. */
export const confirmDelayMs = (intervalMs: number): number => Math.min(intervalMs, Math.max(1000, Math.min(10_000, intervalMs / 2)));
