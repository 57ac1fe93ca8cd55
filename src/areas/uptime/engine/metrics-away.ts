import type { App } from '../../../kernel/app.ts';
import { DatabaseAway } from '../../../kernel/db.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { perApp } from '../../../kernel/per-app.ts';
import { type MetricsStore, sqlMetrics } from '../store/metrics-store.ts';

/** Whatever is behind it. */
export const metricsStore: (app: App) => MetricsStore = perApp(sqlMetrics);

/** The specification tells this apart from the area's own 502: what was seen cannot be shown now, the monitor goes on. */
export function metricsAway(error: unknown): never {
  if (!(error instanceof DatabaseAway)) throw error;
  throw new Refusal(503, 'unavailable', 'metrics temporarily unavailable; the monitor is unaffected, try again in a moment', {
    cause: error,
    headers: { 'retry-after': '2' },
  });
}
