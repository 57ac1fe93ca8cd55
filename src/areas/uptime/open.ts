import type { Host, Opened } from '../area.ts';
import { makeScrapes, type Scrapes } from './engine/scrapes.ts';
import { makeTrials, type Trials } from './engine/trials.ts';
import { makeCounters, measure } from './metrics.ts';
import { agentsPlane, byToken, makeAgentContext, startLocal } from './planes/agents/index.ts';
import { compressSummary } from './planes/compress-summary.ts';
import { negotiateExport } from './planes/export/index.ts';
import { type MetricsStore, sqlMetrics } from './store/metrics-store.ts';

/** The running state of uptime. */
export interface OpenUptime {
  /** Where stored checks are read from. */
  metricsStore: MetricsStore;
  scrapes: Scrapes;
  trials: Trials;
}

export function openUptime({ app }: Host): Opened<OpenUptime> {
  const counters = makeCounters();
  const desk = makeAgentContext(app, counters);
  return {
    own: { metricsStore: sqlMetrics(app.db), scrapes: makeScrapes(), trials: makeTrials(app) },
    planes: [agentsPlane(desk, 'api', () => byToken(app))],
    routes: (server) => {
      negotiateExport(server);
      compressSummary(server);
    },
    runs: { prober: () => startLocal(desk) },
    metrics: (registry) => measure(registry, app.db, counters),
  };
}
