import { Gauge, type Registry } from 'prom-client';
import type { App } from '../../kernel/app.ts';
import type { RegistryMetrics } from './engine/metrics.ts';
import { queueFigures } from './store/queue.ts';
import { usageOfAll } from './store/quota.ts';

/** For /metrics: the counters of this process, and gauges read from the database at scrape time. */
export function registerMetrics(registry: Registry, { app, metrics }: { app: App; metrics: RegistryMetrics }) {
  for (const metric of Object.values(metrics)) registry.registerMetric(metric);
  const perRegistry = (name: string, help: string) => new Gauge({ name, help, labelNames: ['registry'], registers: [registry] });
  const quota = perRegistry('quarterdeck_registry_quota_bytes', 'What a registry may hold');
  const reserved = perRegistry('quarterdeck_registry_reserved_bytes', 'What uploads under way have announced');
  const oldest = new Gauge({
    name: 'quarterdeck_registry_gc_oldest_due_seconds',
    help: 'For how long garbage collection has been behind',
    registers: [registry],
  });
  const waiting = new Gauge({
    name: 'quarterdeck_registry_gc_due',
    help: 'What garbage collection should have looked at by now',
    registers: [registry],
  });
  new Gauge({
    name: 'quarterdeck_registry_used_bytes',
    help: 'Distinct bytes of blobs and manifests in a registry',
    labelNames: ['registry'],
    registers: [registry],
    async collect() {
      const figures = await app.db
        .read(async (tx) => ({ usage: await usageOfAll(tx), queue: await queueFigures(tx) }))
        .catch(() => undefined);
      if (!figures) return; // the database is unavailable: the last values stay
      for (const gone of [this, quota, reserved]) gone.reset();
      for (const { slug, used_bytes, quota_bytes, reserved_bytes } of figures.usage) {
        this.set({ registry: slug }, used_bytes);
        quota.set({ registry: slug }, quota_bytes);
        reserved.set({ registry: slug }, reserved_bytes);
      }
      oldest.set(figures.queue.oldest_seconds);
      waiting.set(figures.queue.waiting);
    },
  });
}
