import { Counter, Gauge, type Registry } from 'prom-client';
import Type from 'typebox';
import type { App } from '../../../kernel/app.ts';
import { rows } from '../../../kernel/db.ts';
import { perApp } from '../../../kernel/per-app.ts';
import { queueFigures } from '../store/queue.ts';

export interface Metrics {
  pulls: Counter<'registry'>;
  pushes: Counter<'registry'>;
  bytes: Counter<'registry' | 'direction'>;
  refusals: Counter<'code'>;
}

/** The data plane counts from its first request on; a registry of metrics takes the counters over when it is there. */
export const metricsOf = perApp(
  (): Metrics => ({
    pulls: new Counter({
      name: 'quarterdeck_registry_pulls_total',
      help: 'Manifests sent, by registry',
      labelNames: ['registry'],
      registers: [],
    }),
    pushes: new Counter({
      name: 'quarterdeck_registry_pushes_total',
      help: 'Manifests taken, by registry',
      labelNames: ['registry'],
      registers: [],
    }),
    bytes: new Counter({
      name: 'quarterdeck_registry_blob_bytes_total',
      help: 'Bytes of blobs, by registry and direction',
      labelNames: ['registry', 'direction'],
      registers: [],
    }),
    refusals: new Counter({
      name: 'quarterdeck_registry_refusals_total',
      help: 'Refused requests of the data plane, by error code',
      labelNames: ['code'],
      registers: [],
    }),
  }),
);

const UsageRow = Type.Object({
  slug: Type.String(),
  used_bytes: Type.Integer(),
  quota_bytes: Type.Integer(),
  reserved_bytes: Type.Integer(),
});

/** For Area.metrics: the counters, and what the database knows when somebody asks. */
export function registerMetrics(registry: Registry, app: App) {
  for (const metric of Object.values(metricsOf(app))) registry.registerMetric(metric);
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames: ['registry'], registers: [registry] });
  const quota = gauge('quarterdeck_registry_quota_bytes', 'What a registry may hold');
  const reserved = gauge('quarterdeck_registry_reserved_bytes', 'What uploads under way have announced');
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
      const found = await app.db
        .read(async (tx) => ({
          usage: await rows(tx, UsageRow)`select slug, used_bytes, quota_bytes, reserved_bytes from registry.registry`,
          queue: await queueFigures(tx),
        }))
        .catch(() => undefined);
      if (!found) return; // the database is away: the last figures stand
      for (const gone of [this, quota, reserved]) gone.reset();
      for (const { slug, used_bytes, quota_bytes, reserved_bytes } of found.usage) {
        this.set({ registry: slug }, used_bytes);
        quota.set({ registry: slug }, quota_bytes);
        reserved.set({ registry: slug }, reserved_bytes);
      }
      oldest.set(found.queue.oldest_seconds);
      waiting.set(found.queue.waiting);
    },
  });
}
