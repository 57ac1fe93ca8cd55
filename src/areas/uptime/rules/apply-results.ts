import {
  afterSilence,
  applyCheck,
  applyTransition,
  type DownRule,
  decideTransition,
  ignoreReason,
  type MonitorStatus,
  mustRestartWatching,
  noVantageState,
  type ReportedCheck,
  type Transition,
  type VantageState,
} from './down.ts';

export interface WatchedMonitor extends DownRule {
  enabled: boolean;
  epoch: number;
}

export interface AppliedResults<R> {
  status: MonitorStatus;
  /** Of the vantage that reported. */
  vantageState: VantageState;
  transitions: Transition[];
  failures: { result: R; attempt: number }[];
  /** How many results were judged. */
  counted: number;
}

/** Applies one vantage's results of one monitor, oldest first. Each is judged before the next is read. */
export function applyResults<R extends ReportedCheck>(
  monitor: WatchedMonitor,
  standing: MonitorStatus,
  opinions: ReadonlyMap<string, VantageState>,
  vantage: string,
  results: readonly R[],
  now: number,
): AppliedResults<R> {
  const known = new Map(opinions);
  const taken: AppliedResults<R> = {
    status: standing,
    vantageState: known.get(vantage) ?? noVantageState,
    transitions: [],
    failures: [],
    counted: 0,
  };
  for (const result of results) {
    if (ignoreReason(result, taken.vantageState, monitor, now)) continue;
    taken.counted++;
    if (mustRestartWatching(taken.status, monitor, known, now)) taken.status = { ...taken.status, beganAt: now };
    const passed = result.outcome === 'pass';
    taken.vantageState = applyCheck(afterSilence(taken.vantageState, monitor, result.at), passed, result.at, monitor.confirmations);
    known.set(vantage, taken.vantageState);
    if (!passed) taken.failures.push({ result, attempt: taken.vantageState.failStreak });
    const transition = decideTransition(taken.status, monitor, known, result.at, now);
    if (!transition) continue;
    taken.transitions.push(transition);
    taken.status = applyTransition(taken.status, transition);
  }
  return taken;
}
