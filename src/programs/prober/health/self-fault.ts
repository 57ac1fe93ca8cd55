import type { Assignment } from '../../../protocols/agent.ts';
import type { Observation } from '../checks/observation.ts';
import type { Clock } from '../clock.ts';
import { hostOf } from '../schedule/host-rate.ts';

/** Fewer monitors than these can all fail at once by themselves. */
const minMonitors = 10;
const maxSamples = 100;
/** By so many of the latest checks it is told whether it is over. */
const recentChecks = 10;

interface Sample {
  readonly at: number;
  readonly hasTurned: boolean;
  readonly host: string;
  readonly intervalMs: number;
}

/**
 * When more than half of what was well turns to error within an interval, on more than one host, we are the likelier culprit. That is
 * judged by the latest checks of monitors that were well, a quarter of all (10 to 100): a cut is noticed before it is confirmed.
 *
 * It is over when checks pass again, or after two intervals, the shortest of those that turned: a prober whose canaries answer, or that
 * has none, cannot tell a cut of its own from the end of everything it watches, and must not keep quiet about the latter for long.
 */
export interface SelfFault {
  record(assignment: Assignment, observation: Observation): void;
  /** What it no longer watches. */
  keepOnly(isWatched: (monitorId: string) => boolean): void;
  isSuspected(): boolean;
}

export function makeSelfFault(clock: Clock): SelfFault {
  const wasError = new Map<string, boolean>();
  let samples: Sample[] = [];
  let errors: boolean[] = [];
  const never = { at: Number.NEGATIVE_INFINITY, until: Number.NEGATIVE_INFINITY };
  let suspected = never;

  const mostFail = () => errors.filter(Boolean).length > errors.length / 2;
  /** What turned, when it is more than half. */
  const majorityTurned = (now: number): readonly Sample[] => {
    if (wasError.size < minMonitors) return [];
    const recent = samples.filter(({ at, intervalMs }) => now - at <= intervalMs);
    const turned = recent.filter(({ hasTurned }) => hasTurned);
    const isMajority = recent.length === wanted() && turned.length > recent.length / 2 && new Set(turned.map(({ host }) => host)).size > 1;
    return isMajority ? turned : [];
  };
  const wanted = () => Math.min(maxSamples, Math.max(minMonitors, Math.ceil(wasError.size / 4)));

  return {
    record(assignment, { outcome, errorKind }) {
      if (outcome === 'missed') return;
      // What the guard refuses, it refuses in every weather.
      const isError = outcome === 'error' && errorKind !== 'blocked_target';
      errors = [...errors, isError].slice(-recentChecks);
      const before = wasError.get(assignment.id);
      wasError.set(assignment.id, isError);
      if (before !== false) return;
      const now = clock.now();
      const intervalMs = assignment.intervalSeconds * 1000;
      // It was last well before we were suspected: the same trouble, seen later, does not put its end off.
      if (isError && now - suspected.at <= intervalMs) return;
      samples.push({ at: now, hasTurned: isError, host: hostOf(assignment), intervalMs });
      samples = samples.slice(-wanted());
      const turned = isError && mostFail() ? majorityTurned(now) : [];
      if (turned.length === 0) return;
      suspected = { at: now, until: now + 2 * Math.min(...turned.map((t) => t.intervalMs)) };
      samples = [];
    },
    keepOnly(isWatched) {
      for (const id of wasError.keys()) if (!isWatched(id)) wasError.delete(id);
    },
    isSuspected() {
      if (!mostFail()) suspected = never;
      return clock.now() < suspected.until;
    },
  };
}
