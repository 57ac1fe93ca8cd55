// When a monitor is down. Pure: times are Unix milliseconds by the product's clock, which the caller read.

export type Verdict = 'unknown' | 'passing' | 'failing';
export type State = 'pending' | 'up' | 'down';

/** What one vantage sees of one monitor. */
export interface VantageState {
  failStreak: number;
  passStreak: number;
  verdict: Verdict;
  /** The first failure of the streak that made, or may yet make it `failing`. */
  failingSince: number | undefined;
  lastAt: number | undefined;
}

export const noVantageState: VantageState = {
  failStreak: 0,
  passStreak: 0,
  verdict: 'unknown',
  failingSince: undefined,
  lastAt: undefined,
};

export interface DownRule {
  vantages: readonly string[];
  confirmations: number;
  quorum: number;
  intervalMs: number;
  timeoutMs: number;
}

/** The state of a monitor. */
export interface MonitorStatus {
  state: State;
  since: number;
  /** When watching began; see `vote`. */
  beganAt: number;
  failingSince: number | undefined;
}

/** A vantage's state after one more check. Confirmations are needed in both directions, so a flapping target does not flap the monitor. */
export function applyCheck(o: VantageState, passed: boolean, at: number, confirmations: number): VantageState {
  if (!passed) {
    const failStreak = o.failStreak + 1;
    const verdict = failStreak >= confirmations ? 'failing' : o.verdict;
    return { failStreak, passStreak: 0, verdict, failingSince: o.failingSince ?? at, lastAt: at };
  }
  const passStreak = o.passStreak + 1;
  const verdict = o.verdict === 'failing' && passStreak < confirmations ? 'failing' : 'passing';
  return { failStreak: 0, passStreak, verdict, failingSince: verdict === 'failing' ? o.failingSince : undefined, lastAt: at };
}

/** The same state under another number of confirmations: streaks are judged anew, and a confirmed verdict stays. */
function withConfirmations(o: VantageState, confirmations: number): VantageState {
  if (o.failStreak >= confirmations) return { ...o, verdict: 'failing' };
  if (o.verdict === 'failing' && o.passStreak >= confirmations) return { ...o, verdict: 'passing', failingSince: undefined };
  return o;
}

/** Concurrent transactions may read the clock in another order than they commit. A larger difference means that the clock was set back. */
const clockToleranceMs = 10_000;
/** From the end of a check until its result is here, when all is well. */
const deliveryMs = 5_000;

const isFresh = ({ lastAt }: VantageState, rule: DownRule, now: number) =>
  lastAt !== undefined && now - lastAt <= 3 * rule.intervalMs + rule.timeoutMs && lastAt <= now + clockToleranceMs;

/**
 * The vantage state that a result at `at` meets. After a silence only the confirmed verdict is left: a streak does not reach across a time
 * without checks, and no outage is back-dated into it.
 */
export const afterSilence = (o: VantageState, rule: DownRule, at: number): VantageState =>
  isFresh(o, rule, at) ? o : { ...noVantageState, verdict: o.verdict, lastAt: o.lastAt };

const isInFirstInterval = (beganAt: number, rule: DownRule, now: number) =>
  beganAt <= now + clockToleranceMs && now <= beganAt + rule.intervalMs + rule.timeoutMs + deliveryMs;

/** Why a result is stored but not judged; undefined: it counts. */
export type IgnoreReason = 'missed' | 'degraded' | 'disabled' | 'epoch' | 'late' | 'overtaken';

export interface ReportedCheck {
  outcome: 'pass' | 'fail' | 'error' | 'missed';
  at: number;
  epoch: number;
  /** Its prober suspected a fault of its own. */
  degraded: boolean;
}

export function ignoreReason(
  r: ReportedCheck,
  o: VantageState,
  monitor: { enabled: boolean; epoch: number; intervalMs: number },
  now: number,
) {
  const why = (): IgnoreReason | undefined => {
    if (r.outcome === 'missed') return 'missed';
    if (r.degraded) return 'degraded';
    if (!monitor.enabled) return 'disabled';
    if (r.epoch !== monitor.epoch) return 'epoch';
    if (now - r.at > 2 * monitor.intervalMs) return 'late';
    // After the clock was set back, the stored time lies ahead of all new results, so it orders nothing.
    if (o.lastAt !== undefined && o.lastAt <= now + clockToleranceMs && r.at <= o.lastAt) return 'overtaken';
    return undefined;
  };
  return why();
}

export type VantageStates = ReadonlyMap<string, VantageState>;

/**
 * No vantage has reported for so long that none counts any more: the database or the servers were away, or the clock was set. The first
 * vantage to report must not decide alone, so the first interval starts over, as for a new monitor.
 */
export const mustRestartWatching = (standing: MonitorStatus, rule: DownRule, opinions: VantageStates, now: number): boolean =>
  !isInFirstInterval(standing.beganAt, rule, now) && !rule.vantages.some((v) => isFresh(opinions.get(v) ?? noVantageState, rule, now));

interface Vote {
  /** How many vantages count. */
  size: number;
  failing: string[];
  unknown: number;
}

/**
 * A vantage counts while its newest result is fresh. In the first interval the others count too, as unknown: their first check may not have
 * been due yet.
 */
function vote(standing: MonitorStatus, rule: DownRule, opinions: VantageStates, now: number): Vote {
  const beginning = isInFirstInterval(standing.beganAt, rule, now);
  const result: Vote = { size: 0, failing: [], unknown: 0 };
  for (const vantage of rule.vantages) {
    const opinion = opinions.get(vantage) ?? noVantageState;
    const fresh = isFresh(opinion, rule, now);
    if (!fresh && !beginning) continue;
    result.size++;
    if (!fresh || opinion.verdict === 'unknown') result.unknown++;
    else if (opinion.verdict === 'failing') result.failing.push(vantage);
  }
  return result;
}

export interface Transition {
  at: number;
  from: State;
  to: State;
  failingVantages: string[];
  /** When the new state began; for down, back-dated to the failure that completed the quorum. */
  since: number;
}

/** Vantages may report out of order, and the clock may be set back: transitions of a monitor still have strictly growing times. */
export const nextTimestamp = (since: number, at: number): number => Math.max(at, since + 1);

/** The transition of a monitor at a time, if any. While no vantage counts, the state stays: missing results are no outage. */
export function decideTransition(
  standing: MonitorStatus,
  rule: DownRule,
  opinions: VantageStates,
  at: number,
  now: number,
): Transition | undefined {
  const { size, failing, unknown } = vote(standing, rule, opinions, now);
  if (size === 0) return undefined;
  const quorum = Math.min(rule.quorum, size);
  const to: State = failing.length >= quorum ? 'down' : failing.length + unknown < quorum ? 'up' : standing.state;
  if (to === standing.state) return undefined;
  const when = nextTimestamp(standing.since, at);
  if (to === 'up') return { at: when, from: standing.state, to, failingVantages: [], since: when };
  return {
    at: when,
    from: standing.state,
    to,
    failingVantages: failing,
    since: outageStart(standing, rule, opinions, failing, quorum, when),
  };
}

/** Since when a quorum of vantages has seen it fail at the same time; not before the current state began. */
function outageStart(
  standing: MonitorStatus,
  rule: DownRule,
  opinions: VantageStates,
  failing: string[],
  quorum: number,
  at: number,
): number {
  const starts = failing.map((v) => opinions.get(v)!.failingSince ?? at).sort((a, b) => a - b);
  // Vantages that went silent made the quorum smaller. Until their last result they voted against the outage.
  const silent =
    quorum < rule.quorum ? rule.vantages.map((v) => opinions.get(v) ?? noVantageState).filter((o) => o.verdict !== 'failing') : [];
  const against = silent.map((o) => o.lastAt ?? 0);
  return Math.min(at, Math.max(starts[quorum - 1]!, standing.since, ...against));
}

export const applyTransition = (standing: MonitorStatus, t: Transition): MonitorStatus => ({
  ...standing,
  state: t.to,
  since: t.at,
  failingSince: t.to === 'down' ? t.since : undefined,
});

/**
 * The interval or the down condition changed. The first interval starts over: by a shorter interval, a vantage that has not reported since
 * would not count.
 */
export function rejudge(standing: MonitorStatus, rule: DownRule, opinions: VantageStates, now: number) {
  const known = new Map([...opinions].map(([vantage, o]) => [vantage, withConfirmations(afterSilence(o, rule, now), rule.confirmations)]));
  const begun = { ...standing, beganAt: now };
  const judged = decideTransition(begun, rule, known, now, now);
  // Under the old rule it was no outage, however long a vantage has seen it fail: it begins now.
  const transition = judged && { ...judged, since: judged.at };
  return {
    opinions: known,
    standing: transition ? applyTransition(begun, transition) : begun,
    transitions: transition ? [transition] : [],
  };
}
