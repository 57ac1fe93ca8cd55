import { Gauge, type Registry } from 'prom-client';
import type { App } from '../../kernel/app.ts';
import { type Figure, listFigures } from './store/certificates.ts';

/** Read from the database by each scrape. While it is away the gauges keep their last values. */
export function measure(registry: Registry, app: App): void {
  const gauge = (name: string, help: string, figureOf: (figure: Figure) => number | null) =>
    new Gauge({
      name,
      help,
      labelNames: ['name'],
      registers: [registry],
      async collect() {
        const figures = await app.db.read(listFigures).catch(() => undefined);
        if (!figures) return;
        this.reset();
        for (const figure of figures) {
          const value = figureOf(figure);
          if (value !== null) this.set({ name: figure.name }, value);
        }
      },
    });
  gauge(
    'quarterdeck_certificate_failures',
    'Attempts in a row that failed to get or renew the certificate of a name',
    ({ failures }) => failures,
  );
  gauge(
    'quarterdeck_certificate_days_left',
    'Days until the certificate of a name ends, for the 500 that end first; below 0: it has ended',
    ({ days_left }) => days_left,
  );
}
