import type { App } from '../kernel/app.ts';
import type { Tx } from '../kernel/db/index.ts';

/** `lastUsedAt` of an area's keys is written for all of them at once every few seconds, and once a minute for each. */
export interface LastUsed {
  used(keyId: string): void;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

export function makeLastUsed(app: App, touchKeys: (tx: Tx, ids: string[]) => Promise<unknown>, everyMs = 5_000): LastUsed {
  const written = new Map<string, number>(); // when this process last wrote a key, by the monotonic clock
  let seen = new Set<string>();
  const flush = async () => {
    const at = performance.now();
    for (const [keyId, when] of written) if (at - when > 60_000) written.delete(keyId);
    const due = [...seen].filter((keyId) => !written.has(keyId));
    seen = new Set();
    if (!due.length) return;
    await app.db.write((tx) => touchKeys(tx, due));
    for (const keyId of due) written.set(keyId, at);
  };
  const timer = setInterval(() => void flush().catch((error) => app.log.debug({ err: error }, 'lastUsedAt not written')), everyMs);
  timer.unref();
  return {
    used: (keyId) => void seen.add(keyId),
    flush,
    stop: async () => {
      clearInterval(timer);
      await flush().catch(() => {});
    },
  };
}
