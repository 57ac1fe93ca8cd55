import type { App } from '../kernel/app.ts';
import { topics } from './principal.ts';
import { touchTokens } from './store/last-request.ts';

/** `lastRequest` is written for all tokens at once every few seconds: a write for each request deadlocked elsewhere, and costs more than the request. */
export interface LastRequests {
  used(tokenId: string): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

export function lastRequests(app: App, everyMs = 5_000): LastRequests {
  let seen = new Set<string>();
  const flush = async () => {
    if (!seen.size) return;
    const ids = [...seen].sort(); // one order everywhere: two processes never deadlock
    seen = new Set();
    const write = app.db.write(async (tx) => {
      const found = await touchTokens(tx, ids);
      // Locked tokens are written at the next flush.
      for (const { id, written } of found) if (!written) seen.add(id);
      const owners = found.filter((token) => token.written);
      for (const topic of new Set(owners.map((o) => topics.tokensOf(o.org_id, o.user_id)))) await app.caches.drop(tx, topic);
    });
    await write.catch((error) => {
      for (const id of ids) seen.add(id); // the database is away: they are written when it is back
      throw error;
    });
  };
  const timer = setInterval(() => void flush().catch((error) => app.log.debug({ err: error }, 'lastRequest not written')), everyMs);
  timer.unref();
  return {
    used: (tokenId) => void seen.add(tokenId),
    flush,
    close: async () => {
      clearInterval(timer);
      await flush().catch(() => {});
    },
  };
}
