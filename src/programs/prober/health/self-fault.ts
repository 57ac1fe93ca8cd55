import type { Assignment } from '../../../protocols/agent.ts';
import type { Observation } from '../checks/observation.ts';
import type { Clock } from '../clock.ts';
import { hostOf } from '../schedule/host-rate.ts';

/** With fewer monitors, all may fail at once through faults of their own. */
const minMonitors = 10;
const maxSamples = 100;
/** The number of latest checks that decide whether a suspicion is over. */
const recentChecks = 10;

interface Sample {
  readonly at: number;
  readonly hasTurned: boolean;
  readonly host: string;
  readonly intervalMs: number;
}

/**
 * When more than half of the healthy monitors turn to error within an interval, on more than one host, the prober's own network is the
 * likelier cause. This is judged by the latest checks of healthy monitors, a quarter of all (10 to 100), so a cut is noticed before it is
 * confirmed.
 *
 * The suspicion ends when checks pass again, or after two intervals, the shortest of those that turned. A prober without canaries, or whose
 * canaries answer, cannot tell a cut of its own from a real outage of everything. It must not hide the latter for long.
 */
export interface SelfFault {
  record(assignment: Assignment, observation: Observation): void;
  /** Forgets monitors that are no longer assigned. */
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
  /** The monitors that turned, when they are more than half. */
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
      // The guard's refusals do not depend on the network.
      const isError = outcome === 'error' && errorKind !== 'blocked_target';
      errors = [...errors, isError].slice(-recentChecks);
      const before = wasError.get(assignment.id);
      wasError.set(assignment.id, isError);
      if (before !== false) return;
      const now = clock.now();
      const intervalMs = assignment.intervalSeconds * 1000;
      // It was last well before the suspicion began: the same fault, seen later, does not extend it.
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
