import type { MonitorStatus, VantageState } from '../rules/down.ts';
import type { MonitorRow } from '../store/monitor-row.ts';
import type { StateRow } from '../store/states.ts';
import type { VantageStateRow } from '../store/vantage-states.ts';

// Rows speak ISO text, the rules milliseconds.

export const iso = (ms: number) => new Date(ms).toISOString();
const isoOrNull = (ms: number | undefined) => (ms === undefined ? null : iso(ms));
const msOf = (text: string | null) => (text === null ? undefined : Date.parse(text));

export const watchedOf = (m: MonitorRow) => ({
  vantages: m.vantages,
  confirmations: m.confirmations,
  quorum: m.quorum,
  intervalMs: m.interval_seconds * 1000,
  timeoutMs: m.timeout_ms,
  enabled: m.enabled,
  epoch: m.epoch,
});

export const statusOf = (s: StateRow): MonitorStatus => ({
  state: s.state,
  since: Date.parse(s.since),
  beganAt: Date.parse(s.began_at),
  failingSince: msOf(s.failing_since),
});

export const statusChange = (s: MonitorStatus) => ({
  state: s.state,
  since: iso(s.since),
  beganAt: iso(s.beganAt),
  failingSince: isoOrNull(s.failingSince),
});

export const vantageStateOf = (o: VantageStateRow): VantageState => ({
  failStreak: o.fail_streak,
  passStreak: o.pass_streak,
  verdict: o.verdict,
  failingSince: msOf(o.failing_since),
  lastAt: msOf(o.last_at),
});

export const vantageStateChange = (o: VantageState) => ({
  failStreak: o.failStreak,
  passStreak: o.passStreak,
  verdict: o.verdict,
  failingSince: isoOrNull(o.failingSince),
  lastAt: isoOrNull(o.lastAt),
});
