import { Counter, Gauge, type Registry } from 'prom-client';
import type { Hub } from './engine/hub.ts';

/** Counts from the start; registered with the metrics registry once it exists. */
export interface Counters {
  hints: Counter;
  ended: Counter<'reason'>;
}

export const makeCounters = (): Counters => ({
  hints: new Counter({
    name: 'quarterdeck_live_hints_total',
    help: 'Hints handed to open event streams, several kinds at once counted as one',
    registers: [],
  }),
  ended: new Counter({
    name: 'quarterdeck_live_streams_ended_total',
    help: 'Event streams that ended: their reader left, their rights ended (refused), they were not read (unread), the server stopped',
    labelNames: ['reason'],
    registers: [],
  }),
});

export function measureStreams(registry: Registry, hub: Hub, { hints, ended }: Counters) {
  registry.registerMetric(hints);
  registry.registerMetric(ended);
  new Gauge({
    name: 'quarterdeck_live_streams',
    help: 'Open event streams of this process',
    registers: [registry],
    collect() {
      this.set(hub.count);
    },
  });
}
