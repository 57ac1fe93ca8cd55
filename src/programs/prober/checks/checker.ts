import type { Guard, TlsOptions } from '../../../kernel/guard/index.ts';
import type { Logger } from '../../../kernel/log.ts';
import { type Assignment, sendsHidden, withoutQueries } from '../../../protocols/agent.ts';
import type { Clock } from '../clock.ts';
import { type LoopWatch, stallMs } from '../health/loop-watch.ts';
import { checkHttp } from './check-http.ts';
import { checkTcp } from './check-tcp.ts';
import { type Observation, timedOut } from './observation.ts';

export interface CheckerOptions {
  readonly guard: Guard;
  readonly clock: Clock;
  readonly loop: LoopWatch;
  readonly log: Logger;
  readonly userAgent: () => string;
  readonly tls?: TlsOptions;
}

/** Runs one check. Never throws: a fault of the prober itself is a missed check. */
export function makeChecker({ guard, clock, loop, log, userAgent, tls }: CheckerOptions) {
  const look = (assignment: Assignment): Promise<Observation> => {
    const { timeoutMs } = assignment;
    return assignment.kind === 'http'
      ? checkHttp(guard, { target: assignment.target, timeoutMs, userAgent: userAgent(), ...(tls && { tls }) })
      : checkTcp(guard, { target: assignment.target, timeoutMs, ...(tls && { tls }) });
  };
  const missed = (assignment: Assignment, why: Record<string, unknown>, sentence: string): Observation => {
    log.warn({ monitor: assignment.id, ...why }, sentence);
    return { outcome: 'missed', errorKind: 'overloaded' };
  };

  return async (assignment: Assignment): Promise<Observation> => {
    const started = clock.now();
    try {
      const observation = withoutSecrets(await look(assignment), assignment);
      if (!timedOut(observation)) return observation;
      const lostMs = lostMsOf(clock.now() - started, assignment.timeoutMs, loop.lostSince(started));
      return lostMs === 0 ? observation : missed(assignment, { lostMs }, 'a check ran out of time because this prober is overloaded');
    } catch (err) {
      return missed(assignment, { err }, 'a check failed through a fault of this prober');
    }
  };
}

/** An answer may repeat secrets of the request, and readers see failures. So they are removed before a result is spooled or sent. */
function withoutSecrets({ errorDetail, snippet, ...seen }: Observation, { target }: Assignment): Observation {
  return {
    ...seen,
    ...(errorDetail === undefined ? {} : { errorDetail: withoutQueries(errorDetail) }),
    ...(snippet === undefined || sendsHidden(target) ? {} : { snippet: withoutQueries(snippet) }),
  };
}

/**
 * How much of a timeout is the prober's fault; 0: none. Either its timer fired late, so the answer may have arrived in time, or the event
 * loop stalled for a good part of the timeout.
 */
export function lostMsOf(tookMs: number, timeoutMs: number, stalledMs: number): number {
  const lateMs = tookMs - timeoutMs;
  if (lateMs > stallMs) return Math.round(lateMs);
  return stalledMs >= timeoutMs / 4 ? Math.round(stalledMs) : 0;
}
