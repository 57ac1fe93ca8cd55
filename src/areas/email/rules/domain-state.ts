import type { Observation } from './observe.ts';

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** So long without success, and a domain has failed. It is looked at less often then, so that it can still heal. */
export const pendingSeconds = 72 * hour;
/** With the time before it, 14 days: then nobody looks any more until somebody asks. */
export const failedSeconds = 11 * day;
/** Of a verified domain, so many misses in a row over so long a time. */
export const mostMisses = 3;
export const missingSeconds = 24 * hour;

/** What is known of a domain's sending, or of its receiving, before a check. Times in seconds of one clock. */
export interface Standing {
  state: 'pending' | 'verified' | 'failed';
  /** When it came into this state. */
  stateAt: number;
  /** Misses in a row, and when the first of them was. */
  misses: number;
  missingSince: number | null;
}

export interface CheckedStanding extends Standing {
  /** Seconds until the next look; null: none. */
  nextIn: number | null;
}

/** `missing` needs proof: where the DNS did not answer, nothing is known. */
export type Finding = 'found' | 'missing' | 'unknown';

export function findingOf(observations: readonly Observation[], capability: 'send' | 'receive' = 'send'): Finding {
  const required = observations.filter(({ record }) => record.required && record.capability === capability);
  if (required.some(({ outcome }) => outcome === 'missing' || outcome === 'mismatch')) return 'missing';
  return required.every(({ outcome }) => outcome === 'found') ? 'found' : 'unknown';
}

/** One check's effect on a domain. */
export function afterCheck(before: Standing, finding: Finding, now: number): CheckedStanding {
  const after = moveState(before, finding, now);
  return { ...after, nextIn: nextCheckIn(after, now) };
}

function moveState(before: Standing, finding: Finding, now: number): Standing {
  if (finding === 'unknown') return before;
  if (finding === 'found')
    return { state: 'verified', stateAt: before.state === 'verified' ? before.stateAt : now, misses: 0, missingSince: null };
  const missed: Standing = { ...before, misses: before.misses + 1, missingSince: before.missingSince ?? now };
  const isOver =
    before.state === 'pending'
      ? now - before.stateAt >= pendingSeconds
      : before.state === 'verified' && missed.misses >= mostMisses && now - missed.missingSince! >= missingSeconds;
  return isOver ? { ...missed, state: 'failed', stateAt: now } : missed;
}

/** Often while somebody is likely to be typing records, and ever more seldom after that. */
const paces: readonly [until: number, every: number][] = [
  [30, 15],
  [minute, 30],
  [2 * minute, minute],
  [5 * minute, 3 * minute],
  [hour, 5 * minute],
  [6 * hour, 15 * minute],
  [Number.POSITIVE_INFINITY, hour],
];

export function nextCheckIn({ state, stateAt }: Pick<Standing, 'state' | 'stateAt'>, now: number): number | null {
  const age = Math.max(0, now - stateAt);
  if (state === 'pending') return paces.find(([until]) => age < until)![1];
  return state === 'failed' && age >= failedSeconds ? null : 6 * hour;
}

/** Somebody asks to look again: a failed domain gets another chance, with all its time. */
export const afterAsking = (before: Standing, now: number): Standing =>
  before.state === 'failed' ? { state: 'pending', stateAt: now, misses: 0, missingSince: null } : before;

/** Both are looked at in one look, at the earlier of their times; receiving only for as long as somebody still looks at sending. */
export const soonerOf = (send: number | null, receive: number | null): number | null =>
  send === null || receive === null ? send : Math.min(send, receive);
