import type { RecordFinding } from './domain-records.ts';

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** A pending domain fails after this time; then it is still looked up, less often, for two weeks. */
const pendingSeconds = 3 * day;
const failedSeconds = 14 * day;
/** A verified domain fails after this many misses in a row over at least this time. */
const maxMisses = 3;
const missingSeconds = day;
const checkedEverySeconds = 6 * hour;

/** Times are seconds of one clock. */
export interface DomainStatus {
  state: 'pending' | 'verified' | 'failed';
  stateAt: number;
  misses: number;
  missingSince: number | null;
}

/** Looked up often while its owner is likely to be publishing. */
const intervals: readonly [until: number, every: number][] = [
  [10 * minute, 20],
  [hour, minute],
  [6 * hour, 5 * minute],
  [Number.POSITIVE_INFINITY, 30 * minute],
];

/** One look's effect. An answer that did not come changes nothing. */
export function afterLook(before: DomainStatus, findings: readonly RecordFinding[], now: number): DomainStatus {
  if (findings.every(({ outcome }) => outcome === 'found'))
    return { state: 'verified', stateAt: before.state === 'verified' ? before.stateAt : now, misses: 0, missingSince: null };
  if (!findings.some(({ outcome }) => outcome === 'missing' || outcome === 'mismatch')) return before;
  const missed = { ...before, misses: before.misses + 1, missingSince: before.missingSince ?? now };
  const isOver =
    before.state === 'pending'
      ? now - before.stateAt >= pendingSeconds
      : before.state === 'verified' && missed.misses >= maxMisses && now - missed.missingSince >= missingSeconds;
  return isOver ? { ...missed, state: 'failed', stateAt: now } : missed;
}

/** Null: not by itself any more. */
export function nextLookIn({ state, stateAt }: DomainStatus, now: number): number | null {
  const age = Math.max(0, now - stateAt);
  if (state === 'pending') return intervals.find(([until]) => age < until)![1];
  return state === 'failed' && age >= failedSeconds ? null : checkedEverySeconds;
}
