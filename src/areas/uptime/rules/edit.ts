import { isDeepStrictEqual } from 'node:util';
import type { HttpTarget, TcpTarget } from '../../../protocols/agent.ts';

/** The settings of a monitor that an edit can change. */
export interface MonitorSettings {
  enabled: boolean;
  /** Undefined: it cannot be unsealed, so any given target counts as changed. */
  target: HttpTarget | TcpTarget | undefined;
  interval_seconds: number;
  timeout_ms: number;
  vantages: readonly string[];
  confirmations: number;
  quorum: number;
}

/** What follows from an edit. */
export interface Consequences {
  /** Probers must be sent the new assignment. */
  revised: boolean;
  /** Earlier checks say nothing about the new settings. */
  startsOver: boolean;
  /** Earlier checks are judged again under the new settings. */
  rejudged: boolean;
  stops: boolean;
}

const sameVantages = (a: readonly string[], b: readonly string[]) => isDeepStrictEqual([...a].sort(), [...b].sort());

/** Sending the stored values again changes nothing. */
export function consequences(before: MonitorSettings, after: MonitorSettings): Consequences {
  const other =
    !isDeepStrictEqual(before.target, after.target) ||
    before.timeout_ms !== after.timeout_ms ||
    !sameVantages(before.vantages, after.vantages);
  const resumed = !before.enabled && after.enabled;
  const stops = before.enabled && !after.enabled;
  const startsOver = other || resumed;
  const rules =
    before.interval_seconds !== after.interval_seconds || before.confirmations !== after.confirmations || before.quorum !== after.quorum;
  return { revised: startsOver || stops || rules, startsOver, rejudged: rules && !startsOver && after.enabled && !stops, stops };
}
