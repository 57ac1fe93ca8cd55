import { Counter, Gauge, type Registry } from 'prom-client';
import type { Db } from '../../kernel/db/index.ts';
import type { ArrivalReader } from './inbound/engine/index.ts';
import { countWaitingArrivals } from './inbound/store/arrivals.ts';
import type { Queue } from './outbound/engine/queue/index.ts';
import { countQueue } from './outbound/store/queue-counts.ts';
import { mailOnAbsentDisks } from './store/data-directories.ts';
import { countWaitingDeliveries } from './webhooks/store/deliveries.ts';

/** These count before a metrics registry exists; it takes them over later. */
export interface Counters {
  outcomes: Counter<'outcome'>;
  deliveries: Counter<'outcome'>;
  arrivals: Counter<'outcome'>;
  reports: Counter<'outcome'>;
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
  arrivals: new Counter({
    name: 'quarterdeck_email_arrivals_total',
    help: 'Mail that arrived and was read: told to its endpoint, a report, told although it could not be read, or another process’s by then',
    labelNames: ['outcome'],
    registers: [],
  }),
  reports: new Counter({
    name: 'quarterdeck_email_reports_total',
    help: 'Reports at return paths, by what became of the recipient: bounced, complained, delivered, or nothing',
    labelNames: ['outcome'],
    registers: [],
  }),
});

/** Registers the counters of this process and gauges read from the database. Without the database the last values stay. */
export function measure(
  registry: Registry,
  db: Db,
  counters: Counters,
  queue: () => Pick<Queue, 'inFlight' | 'lost'> | undefined,
  readings: () => Pick<ArrivalReader, 'reader'> | undefined,
): void {
  registry.registerMetric(counters.outcomes);
  registry.registerMetric(counters.deliveries);
  registry.registerMetric(counters.arrivals);
  registry.registerMetric(counters.reports);
  measureArrivals(registry, db, readings);
  measureDeliveries(registry, db);
  measureQueue(registry, db, queue);
}

function measureDeliveries(registry: Registry, db: Db): void {
  new Gauge({
    name: 'quarterdeck_email_webhook_waiting_deliveries',
    help: 'Deliveries to webhook endpoints that are not done, by state',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      const found = await db.read(countWaitingDeliveries).catch(() => undefined);
      if (!found) return;
      this.reset();
      for (const { state, deliveries } of found) this.inc({ state }, deliveries);
    },
  });
}

function measureQueue(registry: Registry, db: Db, queue: () => Pick<Queue, 'inFlight' | 'lost'> | undefined): void {
  new Gauge({
    name: 'quarterdeck_email_queued_recipients',
    help: 'Recipients that mail is under way to, by state',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      const found = await db.read(countQueue).catch(() => undefined);
      if (!found) return;
      this.reset();
      for (const { state, recipients } of found) this.inc({ state }, recipients);
    },
  });
  new Gauge({
    name: 'quarterdeck_email_recipients_on_absent_disks',
    help: 'Recipients whose mail is only in a data directory on which no server has run for a minute; counted once a minute',
    registers: [registry],
    async collect() {
      const found = await db.read(mailOnAbsentDisks).catch(() => undefined);
      if (found) this.set(found.reduce((sum, { recipients }) => sum + recipients, 0));
    },
  });
  new Gauge({
    name: 'quarterdeck_email_held_recipients',
    help: 'Recipients that this process is sending to, or is about to',
    registers: [registry],
    collect() {
      this.set(queue()?.inFlight.count ?? 0);
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

function measureArrivals(registry: Registry, db: Db, readings: () => Pick<ArrivalReader, 'reader'> | undefined): void {
  new Gauge({
    name: 'quarterdeck_email_waiting_arrivals',
    help: 'Mail that arrived and waits to be read, by kind: mail, or a report at a return path',
    labelNames: ['kind'],
    registers: [registry],
    async collect() {
      const found = await db.read(countWaitingArrivals).catch(() => undefined);
      if (!found) return;
      this.reset();
      for (const { kind, arrivals } of found) this.inc({ kind }, arrivals);
    },
  });
  new Gauge({
    name: 'quarterdeck_email_reading_threads',
    help: 'Threads of this process that read mail at this moment',
    registers: [registry],
    collect() {
      this.set(readings()?.reader.threads ?? 0);
    },
  });
  new Gauge({
    name: 'quarterdeck_email_ended_reading_threads',
    help: 'Threads that were ended since the start because a message took too long or too much',
    registers: [registry],
    collect() {
      this.set(readings()?.reader.ended ?? 0);
    },
  });
}
