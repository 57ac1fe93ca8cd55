import type { App } from '../../../../kernel/app.ts';
import { now } from '../../../../kernel/time.ts';

/** The database's time in milliseconds, read every 30 s and extrapolated with the monotonic clock. */
export type Clock = () => Promise<number>;

export function makeClock(app: App): Clock {
  const cache = app.caches.make<{ origin: number }>({ max: 1, ttlMs: 30_000 });
  return async () => {
    const read = await cache.get('now', async () => {
      const at = Date.parse(await app.db.read(now));
      return { value: { origin: at - performance.now() }, topics: [] };
    });
    return read!.origin + performance.now();
  };
}
