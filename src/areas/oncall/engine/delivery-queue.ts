import { unavailable } from '../../../kernel/errors.ts';

/** Deliveries that may wait for one service. Senders repeat refused deliveries, so a longer queue would only hold old data. */
const maxWaitingPerService = 200;

/** Runs work for one key at a time, in order of arrival. */
export type DeliveryQueue = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * Admits one delivery per service before it takes a database connection. Deliveries for a service wait for each other in the database
 * anyway, and a storm for one service would hold all connections of this process.
 */
export function makeDeliveryQueue(): DeliveryQueue {
  const queues = new Map<string, { waiting: number; last: Promise<unknown> }>();
  return async (key, work) => {
    const queue = queues.get(key) ?? { waiting: 0, last: Promise.resolve() };
    if (queue.waiting >= maxWaitingPerService) unavailable('too many deliveries for this service wait already; deliver it again');
    queues.set(key, queue);
    queue.waiting++;
    const mine = queue.last.then(work);
    queue.last = mine.catch(() => {});
    try {
      return await mine;
    } finally {
      if (--queue.waiting === 0) queues.delete(key);
    }
  };
}
