import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { isDatabaseSocket } from './socket.ts';
import type { Tx } from './transaction.ts';

// A transaction that acts for a caller locks the caller's rights. If it waited for another server, it would hold the locks as long as that
// server takes, and a revocation is refused after 3 s. So remote servers are called before the transaction, or in a job after it. Tests
// detect a violation through node's diagnostics channels.

const outboundChannels = ['net.client.socket', 'udp.socket', 'http.client.request.start', 'undici:request:create'];

interface WatchedWork {
  isOver: boolean;
  reachedOut?: Error;
}

const watched = new AsyncLocalStorage<WatchedWork>();
let isSubscribed = false;

function subscribeOnce(): void {
  if (isSubscribed) return;
  isSubscribed = true;
  for (const way of outboundChannels) subscribe(way, (message) => note(way, message));
}

function note(way: string, message: unknown): void {
  const work = watched.getStore();
  if (!work || work.isOver || isDatabaseSocket((message as { socket?: object }).socket)) return;
  work.reachedOut ??= new Error(`a transaction reaches outside the database (${way}); ask before it begins, or in a job after it`);
}

/** In tests: fails work that connects outside the database. In production it only runs the work. */
export async function assertNoOutbound<T>({ checksRows }: Tx, work: () => Promise<T>): Promise<T> {
  if (!checksRows) return work();
  subscribeOnce();
  const mine: WatchedWork = { isOver: false };
  try {
    const result = await watched.run(mine, work);
    if (mine.reachedOut) throw mine.reachedOut;
    return result;
  } finally {
    mine.isOver = true;
  }
}
