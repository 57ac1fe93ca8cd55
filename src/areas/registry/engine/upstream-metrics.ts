import { Counter, Gauge, type Registry } from 'prom-client';
import type { App } from '../../../kernel/app.ts';
import { perApp } from '../../../kernel/per-app.ts';

interface UpstreamMetrics {
  /** What pullers got (`served`, `stale`, `missing`), and how often the upstream was `asked` for it or `away`. */
  manifests: Counter<'upstream' | 'result'>;
  blobs: Counter<'upstream' | 'result'>;
  /** As the upstream says, for the login that was used last. */
  remaining: Gauge<'upstream'>;
}

export const upstreamMetricsOf = perApp(
  (): UpstreamMetrics => ({
    manifests: new Counter({
      name: 'quarterdeck_registry_cache_manifests_total',
      help: 'Manifests of the pull-through cache: served, stale or missing, and how often the upstream was asked or away',
      labelNames: ['upstream', 'result'],
      registers: [],
    }),
    blobs: new Counter({
      name: 'quarterdeck_registry_cache_fills_total',
      help: 'Blobs that the pull-through cache fetched, by how it ended',
      labelNames: ['upstream', 'result'],
      registers: [],
    }),
    remaining: new Gauge({
      name: 'quarterdeck_registry_upstream_ratelimit_remaining',
      help: 'How many more pulls an upstream allows, as it last said',
      labelNames: ['upstream'],
      registers: [],
    }),
  }),
);

export function registerUpstreamMetrics(registry: Registry, app: App) {
  for (const metric of Object.values(upstreamMetricsOf(app))) registry.registerMetric(metric);
}
