import { DatabaseUnavailable } from '../../../kernel/db/index.ts';
import { Refusal } from '../../../kernel/errors.ts';

/** The specification distinguishes this from the area's own 502: stored checks cannot be read now, and the monitor goes on. */
export function metricsUnavailable(error: unknown): never {
  if (!(error instanceof DatabaseUnavailable)) throw error;
  throw new Refusal(503, 'unavailable', 'metrics temporarily unavailable; the monitor is unaffected, try again in a moment', {
    cause: error,
    headers: { 'retry-after': '2' },
  });
}
