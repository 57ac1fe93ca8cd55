import { DatabaseUnavailable } from '../../../kernel/db/index.ts';
import { Refusal } from '../../../kernel/errors.ts';

/** The specification tells this apart from the area's own 502: what was seen cannot be shown now, the monitor goes on. */
export function metricsUnavailable(error: unknown): never {
  if (!(error instanceof DatabaseUnavailable)) throw error;
  throw new Refusal(503, 'unavailable', 'metrics temporarily unavailable; the monitor is unaffected, try again in a moment', {
    cause: error,
    headers: { 'retry-after': '2' },
  });
}
