import { isDeepStrictEqual } from 'node:util';
import type { HttpTarget, TcpTarget } from '../../../protocols/agent.ts';

/** As much of a monitor as an edit can touch. */
export interface MonitorSettings {
  enabled: boolean;
  /** Undefined: it cannot be opened, so that every other one is another. */
  target: HttpTarget | TcpTarget | undefined;
  interval_seconds: number;
  timeout_ms: number;
  vantages: readonly string[];
  confirmations: number;
  quorum: number;
}

/** What an edit asks of those who watch. */
export interface Consequences {
  /** Probers must hear of it. */
  revised: boolean;
  /** What was seen so far says nothing about what is watched from now on. */
  startsOver: boolean;
  /** What was seen so far is to be judged anew. */
  rejudged: boolean;
  stops: boolean;
}

const sameVantages = (a: readonly string[], b: readonly string[]) => isDeepStrictEqual([...a].sort(), [...b].sort());

/** Saying again what holds already changes nothing. */
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
