// When a monitor is down. Pure: times are Unix milliseconds by the product's clock, which the caller read.

export type Verdict = 'unknown' | 'passing' | 'failing';
export type State = 'pending' | 'up' | 'down';

/** What one vantage thinks of one monitor. */
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

/** Where a monitor stands. */
export interface MonitorStatus {
  state: State;
  since: number;
  /** When watching began; see `vote`. */
  beganAt: number;
  failingSince: number | undefined;
}

/** One vantage's opinion, moved by one check. Confirmations work both ways, so a flapping target cannot flap us. */
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

/** The same opinion by another number of confirmations: its streaks count for what they now are; what was confirmed stays so. */
function withConfirmations(o: VantageState, confirmations: number): VantageState {
  if (o.failStreak >= confirmations) return { ...o, verdict: 'failing' };
  if (o.verdict === 'failing' && o.passStreak >= confirmations) return { ...o, verdict: 'passing', failingSince: undefined };
  return o;
}

/** Transactions that run side by side read the clock in another order than they commit; beyond this, it was set back. */
const clockToleranceMs = 10_000;
/** From the end of a check until its result is here, when all is well. */
const deliveryMs = 5_000;

const isFresh = ({ lastAt }: VantageState, rule: DownRule, now: number) =>
  lastAt !== undefined && now - lastAt <= 3 * rule.intervalMs + rule.timeoutMs && lastAt <= now + clockToleranceMs;

/**
 * The opinion that a result at a time finds. Of one that did not count any more only what was confirmed is left: a streak does not
 * reach across a time in which nobody looked, and no outage is dated back into it.
 */
export const afterSilence = (o: VantageState, rule: DownRule, at: number): VantageState =>
  isFresh(o, rule, at) ? o : { ...noVantageState, verdict: o.verdict, lastAt: o.lastAt };

const isInFirstInterval = (beganAt: number, rule: DownRule, now: number) =>
  beganAt <= now + clockToleranceMs && now <= beganAt + rule.intervalMs + rule.timeoutMs + deliveryMs;

/** Why a result is history only; undefined: it counts. */
export type IgnoreReason = 'missed' | 'degraded' | 'disabled' | 'epoch' | 'late' | 'overtaken';

export interface ReportedCheck {
  outcome: 'pass' | 'fail' | 'error' | 'missed';
  at: number;
  epoch: number;
  /** Its prober took itself for the culprit. */
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
    // After the clock was set back, what is stored lies ahead of everything that is still to come: it orders nothing.
    if (o.lastAt !== undefined && o.lastAt <= now + clockToleranceMs && r.at <= o.lastAt) return 'overtaken';
    return undefined;
  };
  return why();
}

export type VantageStates = ReadonlyMap<string, VantageState>;

/**
 * Nobody has been heard for so long that no vantage counts any more: the database was away, the servers were, or the clock was set.
 * The first to speak again must not decide alone because it was the first, so watching begins again, as for a new monitor.
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
 * A vantage counts while its newest result is fresh. In the first interval after watching began those that are not count too, as
 * unknown: they have not had their turn.
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
  /** When what it says began: for down, back-dated to the failure that made the quorum. */
  since: number;
}

/** Two vantages report out of order, or the clock was set back: a history that runs backwards, or stands still, helps nobody. */
export const nextTimestamp = (since: number, at: number): number => Math.max(at, since + 1);

/** Whether the monitor changes its state at a moment, and to what. Without anybody who counts it keeps it: no news is no outage. */
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

/** Since when as many as it takes have seen it fail at once; not before the state that it ends began. */
function outageStart(
  standing: MonitorStatus,
  rule: DownRule,
  opinions: VantageStates,
  failing: string[],
  quorum: number,
  at: number,
): number {
  const starts = failing.map((v) => opinions.get(v)!.failingSince ?? at).sort((a, b) => a - b);
  // Vantages that fell silent made the quorum smaller. Until their last word they stood against it.
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
 * The interval or the condition is another one. Watching begins again: by a shorter interval, whoever has not reported since would not
 * count.
 */
export function rejudge(standing: MonitorStatus, rule: DownRule, opinions: VantageStates, now: number) {
  const known = new Map([...opinions].map(([vantage, o]) => [vantage, withConfirmations(afterSilence(o, rule, now), rule.confirmations)]));
  const begun = { ...standing, beganAt: now };
  const judged = decideTransition(begun, rule, known, now, now);
  // By the rule that held until now it was no outage, however long a vantage has seen it fail: it is one from here on.
  const transition = judged && { ...judged, since: judged.at };
  return {
    opinions: known,
    standing: transition ? applyTransition(begun, transition) : begun,
    transitions: transition ? [transition] : [],
  };
}
