import { GuardFailure, GuardRefusal, type Phase } from '../../../kernel/guard/index.ts';
import type { Result } from '../../../protocols/agent.ts';

/** The outcome of one check, without its time. */
export type Observation = Omit<Result, 'monitor' | 'epoch' | 'ageMs'>;

/** The parts of a check in milliseconds, summed over redirects. */
export class PhaseSums {
  private readonly sums: NonNullable<Result['phases']> = {};

  readonly add = (phase: Phase, ms: number): void => {
    this.sums[phase] = (this.sums[phase] ?? 0) + ms;
  };

  /** To a microsecond: more is noise, and every digit is stored. */
  rounded(): NonNullable<Result['phases']> {
    const rounded: NonNullable<Result['phases']> = {};
    for (const [phase, ms] of Object.entries(this.sums) as [Phase, number][]) rounded[phase] = round(ms);
    return rounded;
  }
}

export const round = (ms: number): number => Math.round(ms * 1000) / 1000;

/** The target answered, but not what was expected. */
export const fail = (errorKind: 'status_mismatch' | 'body_mismatch' | 'prefix_mismatch', errorDetail: string) =>
  ({ outcome: 'fail', errorKind, errorDetail: errorDetail.slice(0, 500) }) as const;

/** Every local port is in use: the target had no part in it. */
const isOurs = (error: GuardFailure) => (error.cause as { code?: unknown } | undefined)?.code === 'EADDRNOTAVAIL';

/**
 * What an exception says about the target; null: nothing. A local fault (no file descriptors, no memory, a bug) must never be reported as
 * the target's outage.
 */
export function errorOf(error: unknown): { outcome: 'error'; errorKind: string; errorDetail: string } | null {
  if (error instanceof GuardRefusal) return { outcome: 'error', errorKind: 'blocked_target', errorDetail: error.message.slice(0, 500) };
  if (!(error instanceof GuardFailure) || isOurs(error)) return null;
  const errorKind = error.kind === 'too_large' ? 'protocol' : error.kind;
  return { outcome: 'error', errorKind, errorDetail: error.message.slice(0, 500) };
}

export const timedOut = ({ errorKind }: Observation): boolean =>
  errorKind === 'timeout' || errorKind === 'connect_timeout' || errorKind === 'dns_timeout';
