import { unavailable } from '../../../kernel/errors.ts';

/** Deliveries that may wait for one service. Senders repeat what is refused, so a longer queue would only grow old. */
const maxWaitingPerService = 200;

/** Runs work for one key at a time, in the order of asking. */
export type DeliveryQueue = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * One delivery for a service at a time, before it takes a database connection: they would wait for each other there anyway, and a
 * storm of one service would hold every connection of this process meanwhile.
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
