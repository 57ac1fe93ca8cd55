import { Gauge, type Registry } from 'prom-client';
import type { App } from '../../kernel/app.ts';
import { lag, responseTimes } from './store/statistics.ts';

/** Read from the database at scrape time, so every process reports the same. While the database is unavailable, the last values stay. */
export function registerMetrics(registry: Registry, app: App): void {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `quarterdeck_oncall_${name}`, help, labelNames, registers: [registry] });
  const oldest = gauge('oldest_due_page_seconds', 'How long the page that waits longest has been due');
  new Gauge({
    name: 'quarterdeck_oncall_escalation_lag_seconds',
    help: 'How late the most overdue escalation step is',
    registers: [registry],
    async collect() {
      const late = await app.db.read(lag).catch(() => undefined);
      if (!late) return;
      this.set(late.escalation);
      oldest.set(late.page);
    },
  });
  const acknowledge = gauge('mean_time_to_acknowledge_seconds', 'From opening to acknowledgement, over 30 days', ['service']);
  const resolve = gauge('mean_time_to_resolve_seconds', 'From opening to resolution, over 30 days', ['service']);
  new Gauge({
    name: 'quarterdeck_oncall_incidents',
    help: 'Incidents opened in the last 30 days',
    labelNames: ['service'],
    registers: [registry],
    async collect() {
      const times = await app.db.read(responseTimes).catch(() => undefined);
      if (!times) return;
      for (const g of [this, acknowledge, resolve]) g.reset();
      for (const { service_id: service, incidents, mtta, mttr } of times) {
        this.set({ service }, incidents);
        if (mtta !== null) acknowledge.set({ service }, mtta);
        if (mttr !== null) resolve.set({ service }, mttr);
      }
    },
  });
}
