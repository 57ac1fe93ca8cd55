import Type from 'typebox';
import type { App } from '../kernel/app.ts';
import { rows } from '../kernel/db.ts';
import { topics } from './principal.ts';

/** `lastRequest` is written for all tokens at once every few seconds: a write for each request deadlocked elsewhere, and costs more than the request. */
export interface LastRequests {
  used(tokenId: string): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

const SeenRow = Type.Object({ id: Type.String(), org_id: Type.String(), user_id: Type.String(), written: Type.Boolean() });

export function lastRequests(app: App, everyMs = 5_000): LastRequests {
  let seen = new Set<string>();
  const flush = async () => {
    if (!seen.size) return;
    const ids = [...seen].sort(); // one order everywhere: two processes never deadlock
    seen = new Set();
    const write = app.db.write(async (tx) => {
      // Those that somebody locks at this moment, minting with them or revoking them, are left for the next time: whoever waits for one
      // token while it holds those of others makes these wait too.
      const found = await rows(tx, SeenRow)`
        with touched as (select org_id, id from identity.token where id = any(${ids}) order by id for no key update skip locked),
             written as (update identity.token t set last_request = kernel.now() from touched
                          where t.org_id = touched.org_id and t.id = touched.id returning t.id)
        select t.id, t.org_id, t.user_id, w.id is not null as written
          from identity.token t left join written w on w.id = t.id where t.id = any(${ids})`;
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
