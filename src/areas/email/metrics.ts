import { Counter, Gauge, type Registry } from 'prom-client';
import type { Db } from '../../kernel/db/index.ts';
import type { Queue } from './engine/queue/index.ts';
import { deliveryFigures } from './store/deliveries.ts';
import { queueFigures } from './store/figures.ts';

/** Counted from the first message on; a registry of metrics takes them over when it is there. */
export interface Counters {
  outcomes: Counter<'outcome'>;
  deliveries: Counter<'outcome'>;
}

export const makeCounters = (): Counters => ({
  outcomes: new Counter({
    name: 'quarterdeck_email_outcomes_total',
    help: 'Attempts to send to one recipient, by what came of them',
    labelNames: ['outcome'],
    registers: [],
  }),
  deliveries: new Counter({
    name: 'quarterdeck_email_webhook_attempts_total',
    help: 'Attempts to tell a webhook endpoint of an event, by what came of them; postponed: the endpoint is slow, and it waits for its turn',
    labelNames: ['outcome'],
    registers: [],
  }),
});

/** The counters of this process, and what the database knows when somebody asks. While it is away the last figures stand. */
export function measure(registry: Registry, db: Db, counters: Counters, queue: () => Pick<Queue, 'held' | 'lost'> | undefined): void {
  registry.registerMetric(counters.outcomes);
  registry.registerMetric(counters.deliveries);
  new Gauge({
    name: 'quarterdeck_email_webhook_waiting_deliveries',
    help: 'Deliveries to webhook endpoints that are not done, by state',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      const found = await db.read(deliveryFigures).catch(() => undefined);
      if (!found) return;
      this.reset();
      for (const { state, deliveries } of found) this.inc({ state }, deliveries);
    },
  });
  new Gauge({
    name: 'quarterdeck_email_queued_recipients',
    help: 'Recipients that mail is under way to, by state',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      const found = await db.read(queueFigures).catch(() => undefined);
      if (!found) return;
      this.reset();
      for (const { state, recipients } of found) this.inc({ state }, recipients);
    },
  });
  new Gauge({
    name: 'quarterdeck_email_held_recipients',
    help: 'Recipients that this process is sending to, or is about to',
    registers: [registry],
    collect() {
      this.set(queue()?.held.count ?? 0);
    },
  });
  new Gauge({
    name: 'quarterdeck_email_lost_leases',
    help: 'Outcomes that came after their lease was somebody else’s: mail that may have been sent twice',
    registers: [registry],
    collect() {
      this.set(queue()?.lost ?? 0);
    },
  });
}
