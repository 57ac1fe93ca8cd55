import { Gauge, type Registry } from 'prom-client';
import type { App } from '../../kernel/app.ts';
import { listFigures } from './store/certificates.ts';

/** Read from the database by each scrape. While it is away the gauges keep their last values. */
export function measure(registry: Registry, app: App): void {
  const failures = new Gauge({
    name: 'quarterdeck_certificate_failures',
    help: 'Attempts in a row that failed to get or renew the certificate of a name',
    labelNames: ['name'],
    registers: [registry],
  });
  new Gauge({
    name: 'quarterdeck_certificate_days_left',
    help: 'Days until the certificate of a name ends, for the 500 that end first; below 0: it has ended',
    labelNames: ['name'],
    registers: [registry],
    async collect() {
      const figures = await app.db.read(listFigures).catch(() => undefined);
      if (!figures) return;
      this.reset();
      failures.reset();
      for (const { name, days_left, failures: count } of figures) {
        if (days_left !== null) this.set({ name }, days_left);
        failures.set({ name }, count);
      }
    },
  });
}
