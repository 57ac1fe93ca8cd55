import type { Observation } from './dns-defects.ts';

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** A pending domain fails after this time. A failed domain is still checked, less often, so it can recover. */
export const pendingSeconds = 72 * hour;
/** With the pending time 14 days. After that checks stop until a user requests one. */
export const failedSeconds = 11 * day;
/** A verified domain fails after this many misses in a row over at least this time. */
export const maxMisses = 3;
export const missingSeconds = 24 * hour;

/** Verification of sending or receiving before a check. Times are seconds of one clock. */
export interface VerificationStatus {
  state: 'pending' | 'verified' | 'failed';
  /** When this state began. */
  stateAt: number;
  /** Misses in a row, and when the first of them was. */
  misses: number;
  missingSince: number | null;
}

export interface CheckedStatus extends VerificationStatus {
  /** Seconds until the next check; null: none. */
  nextIn: number | null;
}

/** `missing` needs an answer from the DNS; a failed lookup is `unknown`. */
export type Finding = 'found' | 'missing' | 'unknown';

export function findingOf(observations: readonly Observation[], capability: 'send' | 'receive' = 'send'): Finding {
  const required = observations.filter(({ record }) => record.required && record.capability === capability);
  if (required.some(({ outcome }) => outcome === 'missing' || outcome === 'mismatch')) return 'missing';
  return required.every(({ outcome }) => outcome === 'found') ? 'found' : 'unknown';
}

/** One check's effect on a domain. */
export function afterCheck(before: VerificationStatus, finding: Finding, now: number): CheckedStatus {
  const after = moveState(before, finding, now);
  return { ...after, nextIn: nextCheckIn(after, now) };
}

function moveState(before: VerificationStatus, finding: Finding, now: number): VerificationStatus {
  if (finding === 'unknown') return before;
  if (finding === 'found')
    return { state: 'verified', stateAt: before.state === 'verified' ? before.stateAt : now, misses: 0, missingSince: null };
  const missed: VerificationStatus = { ...before, misses: before.misses + 1, missingSince: before.missingSince ?? now };
  const isOver =
    before.state === 'pending'
      ? now - before.stateAt >= pendingSeconds
      : before.state === 'verified' && missed.misses >= maxMisses && now - missed.missingSince! >= missingSeconds;
  return isOver ? { ...missed, state: 'failed', stateAt: now } : missed;
}

/** Checks are frequent while the owner is likely to be publishing records, and become rarer. */
const checkIntervals: readonly [until: number, every: number][] = [
  [30, 15],
  [minute, 30],
  [2 * minute, minute],
  [5 * minute, 3 * minute],
  [hour, 5 * minute],
  [6 * hour, 15 * minute],
  [Number.POSITIVE_INFINITY, hour],
];

export function nextCheckIn({ state, stateAt }: Pick<VerificationStatus, 'state' | 'stateAt'>, now: number): number | null {
  const age = Math.max(0, now - stateAt);
  if (state === 'pending') return checkIntervals.find(([until]) => age < until)![1];
  return state === 'failed' && age >= failedSeconds ? null : 6 * hour;
}

/** A user requests a check: a failed domain becomes pending again, with its full time. */
export const afterRecheckRequest = (before: VerificationStatus, now: number): VerificationStatus =>
  before.state === 'failed' ? { state: 'pending', stateAt: now, misses: 0, missingSince: null } : before;

/** One check covers sending and receiving, at the earlier time. Receiving is not checked once checks of sending have stopped. */
export const earlierCheck = (send: number | null, receive: number | null): number | null =>
  send === null || receive === null ? send : Math.min(send, receive);
