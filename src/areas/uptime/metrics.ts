import { Counter, Gauge, type Registry } from 'prom-client';
import type { Db } from '../../kernel/db/index.ts';
import type { IngestedBatch } from './engine/ingest-batch.ts';
import { flappingMonitors, stateFigures, vantageFigures } from './store/figures.ts';

/** Counts from the first batch on; registered with the metrics registry once it exists. */
export interface Counters {
  batches: Counter<'vantage' | 'is'>;
  results: Counter<'vantage' | 'outcome'>;
  transitions: Counter<'vantage'>;
}

export const makeCounters = (): Counters => ({
  batches: new Counter({
    name: 'quarterdeck_uptime_batches_total',
    help: 'Batches of results, stored or known already, by vantage',
    labelNames: ['vantage', 'is'],
    registers: [],
  }),
  results: new Counter({
    name: 'quarterdeck_uptime_results_total',
    help: 'Results stored, by vantage and outcome',
    labelNames: ['vantage', 'outcome'],
    registers: [],
  }),
  transitions: new Counter({
    name: 'quarterdeck_uptime_transitions_total',
    help: 'Changes of state that results led to, by the vantage that reported them',
    labelNames: ['vantage'],
    registers: [],
  }),
});

export function countBatch(counters: Counters, vantage: string, { status, results, transitions }: IngestedBatch): void {
  counters.batches.inc({ vantage, is: status });
  for (const { outcome } of results) counters.results.inc({ vantage, outcome });
  counters.transitions.inc({ vantage }, transitions);
}

const ask = (db: Db) =>
  db.read(async (tx) => ({ states: await stateFigures(tx), vantages: await vantageFigures(tx), flapping: await flappingMonitors(tx) }));
type Figures = Awaited<ReturnType<typeof ask>>;

/**
 * Counters of this process, and gauges that each scrape reads from the database. While the database is away the gauges keep their last
 * values.
 */
export function measure(registry: Registry, db: Db, counters: Counters): void {
  for (const metric of Object.values(counters)) registry.registerMetric(metric);
  // A scrape collects all gauges at once: they share one query.
  let asked: Promise<Figures | undefined> | undefined;
  const figures = () =>
    (asked ??= ask(db)
      .catch(() => undefined)
      .finally(() => (asked = undefined)));
  const gauge = <L extends string>(name: string, help: string, labelNames: L[], show: (to: Gauge<L>, found: Figures) => void) =>
    new Gauge({
      name: `quarterdeck_uptime_${name}`,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const found = await figures();
        if (!found) return;
        this.reset();
        show(this, found);
      },
    });
  const byVantage = (name: string, help: string, value: (of: Figures['vantages'][number]) => number | null) =>
    gauge(name, help, ['vantage'], (to, { vantages }) => {
      for (const of of vantages) {
        const is = value(of);
        if (is !== null) to.set({ vantage: of.vantage }, is);
      }
    });
  byVantage('live_probers', 'Probers that report, by vantage', (v) => v.live);
  byVantage('degraded_probers', 'Probers that take themselves for cut off, by vantage', (v) => v.degraded);
  byVantage(
    'oldest_result_seconds',
    'Age of the newest result of the monitor that was not heard of for longest, by vantage',
    (v) => v.seconds,
  );
  byVantage(
    'oldest_result_intervals',
    'The same in intervals of the monitor: above 3, the vantage does not count for it any more',
    (v) => v.intervals,
  );
  gauge('monitors', 'Enabled monitors by state', ['state'], (to, { states }) => {
    for (const { state, monitors } of states) to.set({ state }, monitors);
  });
  gauge('flapping_monitors', 'Monitors whose end of outage is held back because they flap', [], (to, found) => to.set(found.flapping));
}
