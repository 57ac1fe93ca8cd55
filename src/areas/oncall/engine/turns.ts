import type { App } from '../../../kernel/app.ts';
import { unavailable } from '../../../kernel/errors.ts';
import { perApp } from '../../../kernel/per-app.ts';

/** Deliveries that may wait for one service. Senders repeat what is refused, so a longer queue would only grow old. */
const most = 200;

const queues = perApp(() => new Map<string, { waiting: number; last: Promise<unknown> }>());

/**
 * One delivery for a service at a time, before it takes a database connection: they would wait for each other there anyway, and a
 * storm of one service would hold every connection of this process meanwhile.
 */
export async function inTurn<T>(app: App, key: string, work: () => Promise<T>): Promise<T> {
  const all = queues(app);
  const queue = all.get(key) ?? { waiting: 0, last: Promise.resolve() };
  if (queue.waiting >= most) unavailable('too many deliveries for this service wait already; deliver it again');
  all.set(key, queue);
  queue.waiting++;
  const mine = queue.last.then(work);
  queue.last = mine.catch(() => {});
  try {
    return await mine;
  } finally {
    if (--queue.waiting === 0) all.delete(key);
  }
}
